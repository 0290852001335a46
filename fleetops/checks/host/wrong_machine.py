"""Another machine answers on the node's address: whatever is read there is not the node's, and says nothing of it."""

from fleetops.checks.support.another import another
from fleetops.checks.support.saying import found, lacking
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import IDENTITY

_NAME = "wrong-machine"


def judge(observation: Observation) -> list[Finding]:
    """One finding with both machine-ids; what answers instead is for a person to find out."""
    if unknown := lacking(_NAME, observation, IDENTITY):
        return unknown
    why = another(observation)
    if not why:
        return []
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "another machine answers",
            why,
            command="run -- hostname",
        )
    ]


CHECK = Check(name=_NAME, title="the machine that answers is the node", judge=judge)
