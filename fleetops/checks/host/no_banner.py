"""TCP is accepted and no SSH banner comes: the machine is not down, and whoever wants to know more asks its hypervisor."""

from fleetops.checks.support.saying import found
from fleetops.model.errors import Silence
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST
from fleetops.model.machine import SSH_ANSWER, PortAnswer

_NAME = "no-banner"


def judge(observation: Observation) -> list[Finding]:
    """Certain, as it was seen, unless the hypervisor gets one: a wedged sshd says nothing while its kernel goes on accepting.

    facts/recovery.md F 21: not to be read as `node is down`.
    """
    gap = observation.silence
    if gap is None or gap.reason != Silence.NO_BANNER:
        return []
    facts, guest = observation.hypervisor_facts, observation.node.guest
    if facts and facts.value(SSH_ANSWER) is PortAnswer.BANNER:
        evidence = f"{facts.host} gets a banner: what stands between here and the node is at fault"
        return [found(_NAME, observation, Severity.UNKNOWN, "no SSH banner", evidence)]
    evidence = f"it is not down: TCP answers{_beside(observation)}"
    command = "recover --dry-run" if guest else ""
    return [found(_NAME, observation, Severity.CRITICAL, "no SSH banner", evidence, command=command)]


def _beside(observation: Observation) -> str:
    """Where to look on: a bare machine has nothing beside it but its console."""
    facts, guest = observation.hypervisor_facts, observation.node.guest
    if facts is None or guest is None:
        return "; a person looks at its console"
    state = facts.value(GUEST)
    seen = f"which says that it is {state.status}" if state else "which does not tell how it is"
    return f"; see guest {guest.id} ({guest.kind}) on {facts.host}, {seen}"


CHECK = Check(name=_NAME, title="SSH says its banner", judge=judge)
