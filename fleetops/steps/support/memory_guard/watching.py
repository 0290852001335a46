"""What the steps of a launch ask of the guard: is it there, has it killed, why; and its disarming."""

import json
from dataclasses import dataclass
from typing import Any

from fleetops.facts.memory_guard import FACT
from fleetops.model.errors import FleetopsError, StepFailed, Unreachable
from fleetops.model.fact import Missing
from fleetops.model.jsonable import jsonable
from fleetops.model.memory_guard import GuardKill, MemoryGuard
from fleetops.model.plan import Action
from fleetops.model.units import show_gb
from fleetops.steps.support.base import Desk
from fleetops.steps.support.memory_guard.commands import tell_command

_MEMO = "memory-guard"
_LOOK_EVERY_S = 2.0
_POLL_S = 0.25
_TELLS_WITHIN_S = 8.0
_DISARMS_WITHIN_S = 5.0


@dataclass
class Guardian:
    """The guard of this run's service, as the steps remember it. `asked`: the launch's sizes (`8 x 300 GB`)."""

    run_id: str
    asked: str
    next_look_at: float = 0.0
    missed: str = ""


def keep_guardian(desk: Desk, asked: str) -> None:
    """Remember that this run's guard is armed."""
    desk.memo[_MEMO] = Guardian(run_id=desk.situation.run_id, asked=asked)


def taken_over(run_id: str) -> dict[str, Any]:
    """The memo of a run that goes on with a service that another has started: that one's guard watches over it."""
    return {_MEMO: Guardian(run_id=run_id, asked="")}


def guardian(desk: Desk) -> Guardian | None:
    """This run's guard; None where none was armed."""
    found = desk.memo.get(_MEMO)
    return found if isinstance(found, Guardian) else None


def look_at_guard(desk: Desk, run_id: str) -> MemoryGuard | None:
    """The guard of that run as its node tells now; None where there is none. Raises StepFailed where that cannot be read."""
    node = desk.situation.node_name
    read = FACT.read(desk.ask(node, FACT.command))
    if isinstance(read, Missing):
        raise StepFailed(f"the memory guard's state could not be read ({read})", host=node)
    return next((guard for guard in read if guard.run_id == run_id), None)


def check_guard(desk: Desk, *, ready: bool) -> None:
    """Every two seconds: a guard that has killed ends the launch with its reason; so does one that is gone before readiness.

    Once the service is ready a guard that is gone is no reason to end it: it is said, and the watch goes on.
    """
    own = guardian(desk)
    if own is None or own.missed or desk.now() < own.next_look_at:
        return
    own.next_look_at = desk.now() + _LOOK_EVERY_S
    try:
        seen = look_at_guard(desk, own.run_id)
    except Unreachable:
        return  # the service's log is asked for at once, and says so itself
    except StepFailed as error:
        desk.tell(error.message)  # not known is no reason to act
        return
    if seen and (seen.killed or seen.alive):
        if seen.killed:
            raise StepFailed(_story(own, seen, seen.killed), host=desk.situation.node_name)
        return
    own.missed = f"the memory guard is gone{_why_gone(seen)}"
    if not ready:
        raise StepFailed(
            f"{own.missed}; without it the launch does not go on",
            host=desk.situation.node_name,
            hint=f"see its log on {desk.situation.node_name}",
        )
    desk.tell(own.missed)


def cause_from_guard(desk: Desk, *, gone: bool) -> str:
    """How the guard has ended the service; "" where it has not.

    A guard that has struck, or whose service is gone, is given time to say what came of it. What cannot be asked any more
    is no cause.
    """
    own = guardian(desk)
    if own is None:
        return ""
    until = desk.now() + _TELLS_WITHIN_S
    try:
        while (seen := look_at_guard(desk, own.run_id)) and seen.alive and not seen.ended:
            if desk.now() >= until or not (gone or seen.killed):
                break
            desk.wait(_POLL_S)
    except FleetopsError:
        return ""
    if seen is None or seen.killed is None:
        return ""
    desk.keep("memory-guard.json", json.dumps(jsonable(seen), indent=1))
    return _story(own, seen, seen.killed)


def disarm_guard(desk: Desk) -> str:
    """Tell the guard to only report from here on; what it has seen, for the step's own words."""
    own = guardian(desk)
    if own is None or own.missed:
        return f"; {own.missed}" if own else ""
    node = desk.situation.node_name
    try:
        desk.restore(
            Action(host=node, command=tell_command(own.run_id, "disarm"), why="from here on it only reports")
        )
        until = desk.now() + _DISARMS_WITHIN_S
        while (seen := look_at_guard(desk, own.run_id)) and seen.armed:
            if desk.now() >= until:
                return "; the memory guard does not answer, and disarms itself when its time is over"
            desk.wait(_POLL_S)
    except FleetopsError as error:
        return f"; the memory guard could not be told ({error.message}), and disarms itself when its time is over"
    return f", {show_gb(seen.lowest_bytes)} of memory left at the least" if seen else ""


def end_guard(desk: Desk) -> None:
    """Tell the guard of a service that was never started to end."""
    own = guardian(desk)
    if own is not None:
        node = desk.situation.node_name
        desk.restore(
            Action(host=node, command=tell_command(own.run_id, "end"), why="there is nothing to guard")
        )


def _why_gone(seen: MemoryGuard | None) -> str:
    if seen is None:
        return ", and has left no state"
    return f" ({seen.ended})" if seen.ended else " without a word"


def _story(own: Guardian, seen: MemoryGuard, kill: GuardKill) -> str:
    asked = f", {own.asked} asked" if own.asked else ""
    after = f"; {kill.after_s:.0f} s after the start"
    again = f"; {show_gb(kill.room_after_bytes)} available again" if kill.room_after_bytes else ""
    left = f"; {kill.left} of its processes are still there" if kill.left and seen.ended else ""
    return (
        f"the memory guard ended it: {kill.bound} fell to {show_gb(kill.room_bytes)},"
        f" below the floor of {show_gb(seen.floor_bytes)}{asked}{after}{again}{left}"
    )
