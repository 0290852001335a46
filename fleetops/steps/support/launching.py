"""What the launch steps share: the profile, the values that fit, where logs and records lie on the node."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetops.engines import Engine, engines
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.errors import Refused
from fleetops.model.fleet import FlagValue, Profile
from fleetops.model.machine import MEMORY
from fleetops.model.sizing import Budget
from fleetops.sizing.answer import budget_of
from fleetops.sizing.budget import Rooms, rooms
from fleetops.sizing.question import Question
from fleetops.steps.support.base import Situation
from fleetops.steps.support.proof import flags_to_prove, overruled

LOG_FOLDER = "/var/log/fleetops"
_RECORDS = "/run/fleetops/services"


@dataclass(frozen=True, kw_only=True)
class Started:
    """A service that a run has started. `at` is on the desk's clock; `unit` is "" where it runs in none.

    `available_bytes` is what the node had right before it, None where that was not read.
    """

    pid: int
    start_ticks: int
    log: str
    at: float
    unit: str = ""
    available_bytes: int | None = None


def profile_of(situation: Situation) -> Profile:
    """The profile to launch. Raises Refused where the node has none."""
    if situation.profile is None:
        raise Refused(
            f"{situation.node_name} has no profile to launch",
            guard="profile",
            host=situation.node_name,
            hint="name one in the inventory (`profile:`) or with --profile",
        )
    return situation.profile


def engine_of(situation: Situation) -> Engine:
    """The engine of the profile. Raises Refused where fleetops can read it, but not launch it."""
    profile = profile_of(situation)
    for one in engines():
        if one.name == profile.engine:
            return one
    raise Refused(
        f"profile {profile.name} is for {profile.engine}, which fleetops does not launch yet",
        guard="engine",
        host=situation.node_name,
        hint=f"engines that it launches: {', '.join(one.name for one in engines())}",
    )


def log_path(situation: Situation) -> str:
    """A new file for each launch."""
    return f"{LOG_FOLDER}/{profile_of(situation).name}-{situation.run_id}.log"


def record_path(profile: Profile) -> str:
    """Where the node keeps who runs for this profile."""
    return f"{_RECORDS}/{profile.name}.json"


def ranks_on_node(profile: Profile) -> int:
    """How many ranks the profile has on one node, as its engine counts them where that is known here."""
    found = next((one for one in engines() if one.name == profile.engine), None)
    if found is None:
        return profile.ranks
    said = {flag.name: str(flag.value) for flag in profile.flags if flag.value is not False}
    return found.expected_ranks({found.tensor_flag: str(profile.ranks), **said})


def rooms_for(situation: Situation) -> Rooms:
    """What bounds a launch: for a node that still has to be cleaned up, what the idle node has."""
    dirty = bool(situation.attribution.processes) or situation.has(
        "gpu-memory-held", "leftovers", "memory-low", "memory-missing"
    )
    return rooms(situation.observation, idle=dirty)


def budget_for(situation: Situation) -> Budget:
    """The launch's arithmetic, as `fleetops size` has it. Raises Refused where its engine is not launched."""
    profile, found = profile_of(situation), rooms_for(situation)
    engine_of(situation)
    facts = situation.observation.node_facts
    source = facts.value(ENGINE_SOURCE)
    question = Question(
        profile=profile,
        flags=flags_to_prove(profile),
        flag=None,
        explanations=situation.proofs,
        rooms=found,
        ranks=ranks_on_node(profile),
        tensor=profile.ranks,
        config=situation.model_config,
        draft_config=situation.draft_config,
        available_bytes=found.rooms[0].size_bytes if facts.value(MEMORY) and found.rooms else None,
        device_tokens=situation.device_tokens,
        overruled=overruled(situation, profile),
        release=source.version if source else "",
    )
    return budget_of(question)


def launch_values(situation: Situation) -> Mapping[str, FlagValue]:
    """The sizes to launch with, `auto` resolved."""
    return budget_for(situation).values
