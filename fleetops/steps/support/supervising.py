"""Stopping a service through what starts it again: a unit by systemd, a container by its runtime, a loop by its shell.

Nothing is disabled or masked to keep it down: a unit that systemd was asked to stop and a container that its runtime was
asked to stop stay down, whatever their restart policies say, until they are asked to start, or the machine starts anew.
So what was enabled stays enabled, and there is nothing to put back.
"""

from collections.abc import Iterable, Iterator

from fleetops.engines.attribution import Attribution
from fleetops.model.command import Command, shell
from fleetops.model.errors import Refused
from fleetops.model.machine import Process
from fleetops.model.plan import Action
from fleetops.model.supervisor import SUPERVISORS, Container, Supervisor, Unit
from fleetops.steps.support.base import Desk, Situation
from fleetops.steps.support.signals import signal_command

GUARD = "supervisor"
_SHELL_GRACE_S = 2.0
_POLL_S = 0.2
_LOG_LINES = 20_000
# systemd notices the end of a unit by its control group; with version 1, in a container, it may miss that, and then waits
# for the unit's TimeoutStopSec (90 s by default; seen in tests/supervisors).
_NOTICED_WITHIN_S = 100.0
_NOTICED_POLL_S = 1.0
# How much longer than the grace a container's stop may take: its runtime kills it then, and waits for that.
_BEYOND_GRACE_S = 20.0

# $1 uid; the rest is run as that user, with the variables that lead to its own manager.
_AS_USER = r"""
uid=$1; shift
[ "$uid" != "$(id -u)" ] || { XDG_RUNTIME_DIR="/run/user/$uid" exec "$@"; }
entry=$(getent passwd "$uid") || { echo "there is no user $uid" >&2; exit 1; }
home=${entry%:*}; home=${home##*:}
group=$(echo "$entry" | cut -d: -f4)
exec setpriv --reuid="$uid" --regid="$group" --clear-groups env HOME="$home" XDG_RUNTIME_DIR="/run/user/$uid" "$@"
"""


def refusal(node: str, supervisors: Iterable[Supervisor]) -> Refused | None:
    """Why the service cannot be stopped through what starts it again; None where it can, or where nothing does."""
    for one in supervisors:
        if one.doubt:
            return Refused(
                f"{one.title} keeps the service on {node}, and it cannot be stopped from here: {one.doubt}",
                guard=GUARD,
                host=node,
                hint="stop the service there, then run the same command again",
            )
    return None


def titles(supervisors: Iterable[Supervisor]) -> str:
    """Through what it is stopped, outermost first; "" where nothing starts it again."""
    return ", ".join(one.title for one in supervisors)


def stop_actions(node: str, supervisors: Iterable[Supervisor], grace_s: float) -> tuple[Action, ...]:
    """One for each supervisor, outermost first."""
    return tuple(_stop(node, one, grace_s) for one in supervisors)


def stop_all(desk: Desk, supervisors: tuple[Supervisor, ...], grace_s: float) -> None:
    """Stop each, outermost first. What a stop leaves alive is for the step's own signals."""
    actions = stop_actions(desk.situation.node_name, supervisors, grace_s)
    for one, action in zip(supervisors, actions, strict=True):
        desk.tell(f"stopping {one.title}")
        outcome = desk.change(action)
        if not outcome.ok and outcome.status is not None:
            desk.tell(f"{one.title} could not be stopped: {outcome.said}")
        elif outcome.timed_out:
            desk.tell(f"{one.title} is not stopped after {action.command.deadline_s:g} s")
        if one.shells:
            _end_shells(desk, one.shells)


def await_noticed(desk: Desk, supervisors: Iterable[Supervisor]) -> None:
    """Until systemd knows as well that the units have ended: one that still goes down cannot be started."""
    units = {(one.unit.name, one.unit.uid) for one in supervisors if one.unit}
    until, told = desk.now() + _NOTICED_WITHIN_S, False
    while units.intersection(_going_down(desk.look())):
        if desk.now() >= until:
            return
        if not told:
            desk.tell("waiting for systemd to notice that the unit has ended")
            told = True
        desk.wait(_NOTICED_POLL_S)


def asked(supervisors: Iterable[Supervisor], processes: Iterable[Process]) -> tuple[Process, ...]:
    """Those of the processes that a stop of these supervisors reaches: a unit's own, and a loop's shells."""
    reached = {pid for one in supervisors if one.unit for pid in one.unit.pids}
    reached |= {shell.pid for one in supervisors for shell in one.shells}
    return tuple(one for one in processes if one.pid in reached)


def stop_unit(unit: Unit) -> Command:
    """Ask its manager to stop it: whatever Restart= says, it stays down. Nobody waits, the caller looks for himself."""
    if unit.uid is None:
        return Command(argv=("systemctl", "stop", "--no-block", "--", unit.name), changes=True, root=True)
    argv = ("systemctl", "--user", "stop", "--no-block", "--", unit.name)
    return as_user(unit.uid, argv, deadline_s=10.0)


def stop_container(container: Container, grace_s: float) -> Command:
    """Ask its runtime: SIGTERM (or the image's own signal), the grace, SIGKILL; its restart policy rests from then on."""
    argv = (container.runtime, "stop", "-t", str(round(grace_s)), container.id)
    deadline_s = grace_s + _BEYOND_GRACE_S
    if container.runtime == "podman" and container.uid:
        return as_user(container.uid, argv, deadline_s=deadline_s)
    return Command(argv=argv, changes=True, root=True, deadline_s=deadline_s)


def log_of(one: Supervisor) -> Command | None:
    """What its manager keeps of the service's output: a unit's journal, a container's log; None for a loop."""
    if one.unit:
        name, uid = one.unit.name, one.unit.uid
        whose = (f"--unit={name}",) if uid is None else (f"_SYSTEMD_USER_UNIT={name}", f"_UID={uid}")
        argv = ("journalctl", "--no-pager", f"--lines={_LOG_LINES}", "--output=short-iso", *whose)
        return Command(argv=argv, root=True, deadline_s=15.0)
    if one.container and one.container.runtime:
        argv = (one.container.runtime, "logs", "--tail", str(_LOG_LINES), one.container.id)
        # What the service says on its standard error comes on the runtime's.
        told = ("sh", "-c", 'exec "$@" 2>&1', "fleetops-log", *argv)
        if one.container.uid:
            return as_user(one.container.uid, told, deadline_s=15.0, changes=False)
        return Command(argv=told, root=True, deadline_s=15.0)
    return None


def as_user(uid: int, argv: tuple[str, ...], *, deadline_s: float, changes: bool = True) -> Command:
    """What only one user's own manager or runtime can be asked."""
    return shell(
        _AS_USER, str(uid), *argv, name="fleetops-as", changes=changes, root=True, deadline_s=deadline_s
    )


def _stop(node: str, one: Supervisor, grace_s: float) -> Action:
    if one.unit:
        command = stop_unit(one.unit)
    elif one.container:
        command = stop_container(one.container, grace_s)
    else:
        command = signal_command("TERM", one.shells)
    return Action(host=node, command=command, why=f"stop {one.title}")


def _going_down(situation: Situation) -> Iterator[tuple[str, int | None]]:
    """Units of which nothing is left but systemd's wait for it."""
    found = situation.observation.node_facts.value(SUPERVISORS)
    for unit in found.units if found else ():
        if unit.active == "deactivating" and not unit.pids:
            yield unit.name, unit.uid


def _end_shells(desk: Desk, shells: tuple[Process, ...]) -> None:
    """A shell that keeps on looping is killed before what it started is touched: else it would start it again."""
    until = desk.now() + _SHELL_GRACE_S
    while left := _still(shells, desk.look().attribution):
        if desk.now() >= until:
            why = "end the loop that starts it again"
            desk.change(Action(host=desk.situation.node_name, command=signal_command("KILL", left), why=why))
            return
        desk.wait(_POLL_S)


def _still(shells: tuple[Process, ...], now: Attribution) -> tuple[Process, ...]:
    """Those that live; all of them while the process table cannot be read."""
    living = {(one.pid, one.start_ticks) for one in now.living}
    return tuple(one for one in shells if not now.known or (one.pid, one.start_ticks) in living)
