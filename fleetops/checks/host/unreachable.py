"""A host that could not be asked anything. It is unknown, not down."""

from fleetops.checks.support.saying import found
from fleetops.model.errors import Silence
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST

_NAME = "unreachable"


def judge(observation: Observation) -> list[Finding]:
    """One finding with the reason, and what the hypervisor says of the guest meanwhile.

    Certain only of a guest that runs and that gave its hypervisor no answer either: then it is the guest that is
    silent. All other silence may be of the way to it, and stays unknown.
    """
    gap = observation.silence
    if gap is None and observation.node_facts.readings:
        return []
    if gap is not None and gap.reason == Silence.NO_BANNER:
        return []
    facts = observation.hypervisor_facts
    state = facts.value(GUEST) if facts else None
    beside = f"; {facts.host} says the guest is {state.status}" if facts and state else ""
    mute = observation.is_mute
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL if mute else Severity.UNKNOWN,
            "silent" if mute else "unreachable",
            f"{gap.why if gap else 'nothing was read from it'}{beside}",
            command="recover --dry-run" if mute else "",
        )
    ]


CHECK = Check(name=_NAME, title="the node answers", judge=judge)
