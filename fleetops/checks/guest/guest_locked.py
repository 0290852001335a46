"""A lock of Proxmox on the guest (backup, snapshot, migration): nothing may be reset or power-cycled under it."""

from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST, TASKS

_NAME = "guest-locked"


def judge(observation: Observation) -> list[Finding]:
    """One finding with the lock and the running tasks that explain it."""
    facts, guest = observation.hypervisor_facts, observation.node.guest
    if guest is None or facts is None:
        return []
    if unknown := lacking(_NAME, observation, GUEST, on=facts):
        return unknown
    state = facts.value(GUEST)
    if state is None or not state.lock:
        return []
    running = listed(f"{task.type} {task.upid}" for task in facts.value(TASKS) or ())
    because = f"; running: {running}" if running else "; no task of it is known to run"
    evidence = (
        f"guest {guest.id} is locked ({state.lock}) on {facts.host}{because}; rungs 3 and 4 wait for it"
    )
    return [
        found(_NAME, observation, Severity.WARNING, f"guest locked: {state.lock}", evidence, command="probe")
    ]


CHECK = Check(name=_NAME, title="no Proxmox lock is on the guest", judge=judge)
