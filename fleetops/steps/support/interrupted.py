"""What a Ctrl-C during rung 4 leaves behind, as the hypervisor shows it: said, with what to type."""

from dataclasses import dataclass

from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Observation
from fleetops.model.plan import Action
from fleetops.platforms.base import Power
from fleetops.steps.support.base import Desk
from fleetops.steps.support.comeback import Life, outlived
from fleetops.steps.support.detached import ABSENT, RUNNING, Detached, state_of

LEFT_BEHIND = "left-behind"
"""The desk's memo under which the runner finds it."""


@dataclass(frozen=True)
class LeftBehind:
    """What goes on, or stays as it is, without us; and what to type."""

    what: str
    to_type: str


def typed(action: Action) -> str:
    """The command as the hypervisor's shell would have it."""
    return " ".join(action.command.argv)


def to_type(action: Action) -> str:
    """The same through fleetops."""
    return f"fleetops run {action.host} -- {typed(action)}"


def leave_stopping(desk: Desk, power: Power, before: Observation, life: Life, change: Detached) -> None:
    """Interrupted on the way down. Nothing is said of a stop that was never begun."""
    node, stop, start = before.node.name, power.stop(before), power.start(before)
    probe = f"fleetops probe {node} shows how it is; only once it is down: {to_type(start)}"
    left = f"what became of {typed(stop)} on {stop.host} is not known"
    # Said as it stands if this look is interrupted too.
    desk.memo[LEFT_BEHIND] = LeftBehind(left, probe)
    try:
        state = state_of(desk, stop.host, change.claim)
        if state == ABSENT:
            del desk.memo[LEFT_BEHIND]
            return
        if state == RUNNING:
            left = f"{typed(stop)} goes on on {stop.host}, for {change.limit_s:g} s at most, and {node} is not started again"
        elif why := power.is_down(desk.look().observation) or outlived(desk, life):
            left = f"{node} is not proven down, and is not started again: {why}"
        else:
            left, probe = f"{node} is stopped, and is not started again", to_type(start)
    except FleetopsError as error:
        left = f"{left} ({error.message})"
    desk.memo[LEFT_BEHIND] = LeftBehind(left, probe)


def leave_starting(desk: Desk, power: Power, before: Observation) -> None:
    """Interrupted after that: its start is submitted, and nobody waits until it is back."""
    node, start = before.node.name, power.start(before)
    desk.memo[LEFT_BEHIND] = LeftBehind(
        f"{node} is started again: {typed(start)} goes on on {start.host}, and is not waited for",
        f"fleetops probe {node} shows when it is back; then the same command again: it reads the facts anew",
    )
