"""Whether a node is well enough that `recover` must not touch it: its service whole, and answering with generations."""

from fleetops.engines import engine
from fleetops.engines.attribution import target_services
from fleetops.engines.condition import Condition, condition
from fleetops.fleet.read import Sessions
from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Finding, Severity
from fleetops.steps.support.base import Situation

_DEADLINE_S = 30.0


def why_healthy(situation: Situation, sessions: Sessions) -> str:
    """Why nothing needs doing, in words; "" where something does (or where that cannot be told)."""
    if any(finding.severity is Severity.CRITICAL for finding in situation.findings):
        return ""
    profile = situation.profile
    if profile is None:
        return "" if _unknown(situation) else "nothing is wrong, and no profile says what should run here"
    services = target_services(situation.observation)
    if not services or any(condition(service) is not Condition.WHOLE for service in services):
        return ""
    answered = _generates(situation, sessions)
    return f"{profile.name} is serving: all ranks live, and {answered}" if answered else ""


def _unknown(situation: Situation) -> list[Finding]:
    return [finding for finding in situation.findings if finding.severity is Severity.UNKNOWN]


def _generates(situation: Situation, sessions: Sessions) -> str:
    """Processes that live prove nothing: one short generation with a deadline does. "" where none came."""
    profile = situation.profile
    if profile is None:
        return ""
    of = engine(profile.engine)
    method, path, body = of.generate("Say yes:", 4)
    try:
        session = sessions.session(situation.observation.node)
        answer = session.request(profile.port, method, path, body, deadline_s=_DEADLINE_S)
        tokens = of.parse_generation(answer.body).tokens if answer.status == 200 else 0
    except (OSError, ValueError, FleetopsError):
        return ""
    return f"a generation of {tokens} tokens was answered" if tokens else ""
