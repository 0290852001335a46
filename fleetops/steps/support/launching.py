"""What the launch steps share: the profile, the values that fit, where logs and records lie on the node."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetops.engines import Engine, engines
from fleetops.model.errors import Refused
from fleetops.model.fleet import FlagValue, Profile
from fleetops.model.sizing import Budget
from fleetops.sizing.budget import Rooms, budget, rooms
from fleetops.steps.support.base import Situation
from fleetops.steps.support.proof import flags_to_prove, meanings

LOG_FOLDER = "/var/log/fleetops"
_RECORDS = "/run/fleetops/services"


@dataclass(frozen=True, kw_only=True)
class Started:
    """A service that a run has started. `at` is on the desk's clock; `unit` is "" where it runs in none."""

    pid: int
    start_ticks: int
    log: str
    at: float
    unit: str = ""


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
    return found.expected_ranks({"tp_size": str(profile.ranks), **said})


def rooms_for(situation: Situation) -> Rooms:
    """What bounds a launch: for a node that still has to be cleaned up, what the idle node has."""
    dirty = bool(situation.attribution.processes) or situation.has(
        "gpu-memory-held", "leftovers", "memory-low", "memory-missing"
    )
    return rooms(situation.observation, idle=dirty)


def budget_for(situation: Situation) -> Budget:
    """The launch's arithmetic with what is proven of its flags. Raises Refused where its engine is not launched."""
    profile = profile_of(situation)
    engine_of(situation)
    return budget(
        profile,
        rooms_for(situation),
        flags=flags_to_prove(profile),
        meanings=meanings(situation, profile),
        ranks=ranks_on_node(profile),
    )


def launch_values(situation: Situation) -> Mapping[str, FlagValue]:
    """The sizes to launch with, `auto` resolved."""
    return budget_for(situation).values
