"""The guest as its hypervisor sees it: is it running at all."""

from dataclasses import replace

from fleetops.checks.support.not_down import not_down, to_look
from fleetops.checks.support.saying import found, lacking
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST

_NAME = "guest-state"
RUNNING = "running"


def judge(observation: Observation) -> list[Finding]:
    """Nothing to say of a bare machine."""
    facts, guest = observation.hypervisor_facts, observation.node.guest
    if guest is None or facts is None:
        return []
    if unknown := lacking(_NAME, observation, GUEST, on=facts):
        return unknown
    state = facts.value(GUEST)
    if state is None or state.status == RUNNING:
        return []
    if alive := not_down(state, facts.host):
        told = found(_NAME, observation, Severity.CRITICAL, f"guest {state.status}, not down", alive)
        return [replace(told, next=to_look(state, facts.host))]
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            f"guest {state.status}",
            f"{facts.host} says that guest {guest.id} ({guest.kind}) is {state.status}",
        )
    ]


CHECK = Check(name=_NAME, title="the guest runs", judge=judge)
