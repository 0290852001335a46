"""Arm the memory guard, before the service it guards is started: a node that runs out of memory is a node that is lost."""

from fleetops.model.errors import Refused, StepFailed
from fleetops.model.memory_guard import MemoryGuard
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.units import show_gb
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.contending import keeper
from fleetops.steps.support.launching import profile_of
from fleetops.steps.support.memory_guard.commands import INTERVAL_S, arm_command, armed_at_most_s
from fleetops.steps.support.memory_guard.watching import keep_guardian, look_at_guard
from fleetops.steps.support.starting import guard_log_path, sizes_asked, start_claim, unit_name

GUARD = "memory-guard"


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """What it watches, and until when."""
    profile = profile_of(situation)
    floor = show_gb(profile.host_memory.floor_bytes)
    minutes = armed_at_most_s(profile) / 60
    return PlannedStep(
        step="start-guard",
        title="arm the memory guard",
        host=situation.node_name,
        detail=(
            f"ends the service below {floor} of MemAvailable or cgroup room; {1 / INTERVAL_S:.0f} looks a second,"
            f" until the watch ends ({minutes:.0f} min at most)"
        ),
        actions=(_action(situation),),
    )


def run(desk: Desk, _options: Options) -> str:
    """Start it, and see by its own state that it lives and is armed. Raises Refused (guard `memory-guard`) where it is not."""
    situation = desk.situation
    outcome = desk.change(_action(situation))
    # A status of 76 says that it was submitted before; without a status the connection was lost: its state tells.
    if not outcome.ok and outcome.status not in {None, 76}:
        raise _refused(situation, outcome.said)
    try:
        seen = look_at_guard(desk, situation.run_id)
    except StepFailed as error:
        raise _refused(situation, error.message) from error
    if seen is None or not seen.armed:
        raise _refused(
            situation, "it has left no state" if seen is None else seen.ended or "it does not live"
        )
    keep_guardian(desk, sizes_asked(situation))
    return _told(seen)


def _refused(situation: Situation, why: str) -> Refused:
    profile = profile_of(situation)
    return Refused(
        f"no memory guard could be armed on {situation.node_name}, so {profile.name} is not started: {why}",
        guard=GUARD,
        host=situation.node_name,
        hint=f"see {guard_log_path(situation)} on {situation.node_name}",
    )


def _told(seen: MemoryGuard) -> str:
    """What it could not do for its own safety is named; why stands in its log."""
    weak = [note.partition(":")[0] for note in seen.notes]
    there = f"floor {show_gb(seen.floor_bytes)}, {show_gb(seen.lowest_bytes)} there ({seen.lowest_bound})"
    return ", ".join([there, *(["locked in memory"] if seen.locked else []), *weak])


def _action(situation: Situation) -> Action:
    by = keeper(situation, profile_of(situation))
    command = arm_command(
        profile_of(situation),
        situation.run_id,
        claim=start_claim(situation),
        unit=by.name if by else unit_name(situation),
        log=guard_log_path(situation),
    )
    return Action(host=situation.node_name, command=command, why="watch over the node's memory")


STEP = Step(
    name="start-guard",
    summary="arm the memory guard on the node: it ends the service before the service ends the node",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    relaunches=True,
)
