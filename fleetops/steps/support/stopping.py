"""Ending a service that this very run has started and that did not come up: it, what it leaves behind, and nobody else."""

from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Severity
from fleetops.model.machine import PROCESSES, Process
from fleetops.model.plan import Action
from fleetops.steps.clear_leftovers import STEP as CLEAR_LEFTOVERS
from fleetops.steps.support.agreed import linked
from fleetops.steps.support.base import Desk, Skip
from fleetops.steps.support.launching import Started
from fleetops.steps.support.signals import signal_command
from fleetops.steps.support.units import OOM, clear_unit, outside

_GONE_WITHIN_S = 30.0
_POLL_S = 1.0
_LEFT = ("gpu-memory-held", "leftovers", "memory-missing", "orphans", "port-held")


def end_own_service(desk: Desk, started: Started) -> str:
    """KILL the process that was started, its session, unit and offspring, look whether they are gone, and tidy up.

    Returns what became of it, for the error that led here; what cannot be reached any more is said, not hidden.
    """
    try:
        own = _own(desk, started)
        if own:
            desk.tell(f"ending what was started ({len(own)} processes)")
            action = Action(
                host=desk.situation.node_name,
                command=signal_command("KILL", own),
                why=f"end pid {started.pid}",
            )
            desk.restore(action)
        until = desk.now() + _GONE_WITHIN_S
        while left := _own(desk, started):
            if desk.now() >= until:
                return f"{len(left)} of its processes are still there"
            desk.wait(_POLL_S)
    except FleetopsError as error:
        return f"what was started (pid {started.pid}) could not be ended: {error.message}"
    return f"what was started is ended{_tidied(desk, started)}"


def what_is_left(desk: Desk) -> str:
    """What the facts show of a service that was ended: nothing, or what to type. What they do not show is not said."""
    node = desk.situation.node_name
    unknown = f"fleetops probe {node} shows what is left of it"
    try:
        now = desk.look()
    except FleetopsError:
        return unknown
    if now.attribution.processes or now.has(*_LEFT):
        return f"fleetops recover {node} clears what it left"
    unread = any(one.check in _LEFT and one.severity is Severity.UNKNOWN for one in now.findings)
    return unknown if unread else f"nothing of it is left on {node}"


def _tidied(desk: Desk, started: Started) -> str:
    """Its unit is forgotten, its shared memory removed; what could not be is said, and what systemd knows of its end."""
    node, said = desk.situation.node_name, ""
    try:
        if started.unit:
            clearing = clear_unit(started.unit)
            ended = desk.restore(Action(host=node, command=clearing, why="leave no failed unit behind"))
            if ended.stdout.strip() == OOM:
                said = f" (the kernel ended it at the MemoryMax of {started.unit})"
        return f"{said}, {CLEAR_LEFTOVERS.run(desk, CLEAR_LEFTOVERS.settle({}))}"
    except Skip:
        return said
    except FleetopsError as error:
        return f"{said}; what it leaves could not be cleared: {error.message}"


def _own(desk: Desk, started: Started) -> tuple[Process, ...]:
    table = desk.look().observation.node_facts.value(PROCESSES)
    if table is None:
        raise FleetopsError("the process table could not be read")
    first = Process(
        pid=started.pid,
        ppid=0,
        pgid=started.pid,
        sid=started.pid,
        state="",
        threads=1,
        comm="",
        start_ticks=started.start_ticks,
    )
    found = {one.pid: one for one in linked((first,), table)}
    if started.unit:
        beyond = {one.pid for one in outside(table, (started.unit,))}
        found.update((one.pid, one) for one in table if one.pid not in beyond)
    return tuple(process for process in found.values() if process.is_alive)
