"""Ending a service that this very run has started and that did not come up: it, and nobody else."""

from fleetops.model.errors import FleetopsError
from fleetops.model.machine import PROCESSES, Process
from fleetops.model.plan import Action
from fleetops.steps.support.agreed import linked
from fleetops.steps.support.base import Desk
from fleetops.steps.support.launching import Started
from fleetops.steps.support.signals import signal_command

_GONE_WITHIN_S = 30.0
_POLL_S = 1.0


def end_own_service(desk: Desk, started: Started) -> str:
    """KILL the process that was started, its session and its offspring, and look whether they are gone.

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
    return "what was started is ended"


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
    return tuple(process for process in linked((first,), table) if process.is_alive)
