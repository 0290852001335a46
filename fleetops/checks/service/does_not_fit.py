"""A profile that asks more host memory than its node has: the per-rank trap, seen before the launch."""

from dataclasses import replace

from fleetops.checks.support.saying import found
from fleetops.model.fact import Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.past import Remembered
from fleetops.model.size import DOES_NOT_FIT, FIT, UNPROVEN, Fit

_NAME = "does-not-fit"


def judge(observation: Observation) -> list[Finding]:
    """By what the flags are proven to mean in the source that would run; nothing where no flag takes host memory."""
    if FIT.name not in observation.node_facts.readings:
        return []
    told = observation.node_facts.get(FIT)
    if isinstance(told, Missing):
        return [found(_NAME, observation, Severity.UNKNOWN, "fit not known", str(told), command="size")]
    profile = observation.profile.name if observation.profile else ""
    says = f"{profile}: {told.says}"
    if told.verdict == DOES_NOT_FIT:
        return [_said(observation, Severity.WARNING, "profile does not fit", says, told)]
    if told.contradicted:
        says = f"{profile} says otherwise what {', '.join(told.contradicted)} means than the source does"
        return [_said(observation, Severity.WARNING, "profile contradicted", says, told)]
    if told.verdict == UNPROVEN:
        return [_said(observation, Severity.UNKNOWN, "fit not proven", says, told)]
    return []


def _said(observation: Observation, severity: Severity, subject: str, says: str, told: Fit) -> Finding:
    return replace(found(_NAME, observation, severity, subject, says), next=told.next)


def remember(observation: Observation) -> Remembered:
    """The answer, so that nothing is proven anew while nothing has changed."""
    told = observation.node_facts.value(FIT)
    return Remembered(words={FIT.name: told.as_text} if told else {})


CHECK = Check(
    name=_NAME, title="what the profile asks of host memory fits the node", judge=judge, sweeps_only=True
)
