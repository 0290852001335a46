"""A host that could not be asked anything. It is unknown, not down."""

from fleetops.checks.support.saying import found
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST

_NAME = "unreachable"


def judge(observation: Observation) -> list[Finding]:
    """One finding with the reason, and what the hypervisor says of the guest meanwhile."""
    readings = tuple(observation.node_facts.readings.values())
    gaps = [reading for reading in readings if isinstance(reading, Missing)]
    silent = [gap for gap in gaps if gap.gap is Gap.UNREACHABLE]
    if readings and (len(gaps) < len(readings) or not silent):
        return []
    why = silent[0].why if silent else "nothing was read from it"
    facts = observation.hypervisor_facts
    state = facts.value(GUEST) if facts else None
    beside = f"; {facts.host} says the guest is {state.status}" if facts and state else ""
    return [found(_NAME, observation, Severity.UNKNOWN, "unreachable", f"{why}{beside}")]


CHECK = Check(name=_NAME, title="the node answers", judge=judge)
