"""A service whose processes all live and that gives no token: up, and of no use to anybody."""

from fleetops.checks.support.saying import found
from fleetops.model.engine import GENERATED
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import IDENTITY

_NAME = "not-generating"


def judge(observation: Observation) -> list[Finding]:
    """Nothing is said where there was nothing to ask: the service is absent, dead in part, or not listening yet."""
    profile, told = observation.profile, observation.node_facts.get(GENERATED)
    was_asked = GENERATED.name in observation.node_facts.readings
    if profile is None or not was_asked or not isinstance(told, Missing):
        return []
    if told.gap is not Gap.TIMED_OUT:
        return [_said(observation, Severity.UNKNOWN, "generation not known", str(told))]
    if age_s := _coming_up(observation):
        evidence = (
            f"{told.why}; it is {age_s:.0f} s old, and its profile gives it {profile.ready_deadline_s:g} s"
        )
        return [_said(observation, Severity.WARNING, "not generating yet", evidence)]
    evidence = f"the processes on port {profile.port} live; {told.why}"
    return [_said(observation, Severity.CRITICAL, "not generating", evidence)]


def _said(observation: Observation, severity: Severity, subject: str, evidence: str) -> Finding:
    command = "recover --dry-run" if severity is Severity.CRITICAL else "probe"
    return found(_NAME, observation, severity, subject, evidence, command=command)


def _coming_up(observation: Observation) -> float:
    """How old a service is that is still within its own ready-deadline; 0 for one that is not."""
    identity, profile = observation.node_facts.value(IDENTITY), observation.profile
    ages = [
        one.launcher.age_s(identity)
        for one in observation.services
        if identity and profile and one.launcher and one.port == profile.port
    ]
    return min((age for age in ages if profile and age < profile.ready_deadline_s), default=0.0)


CHECK = Check(name=_NAME, title="the service generates tokens", judge=judge, sweeps_only=True)
