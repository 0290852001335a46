"""Whether `recover` has anything to do: a node is well only if its service is whole and answers with generations."""

from dataclasses import dataclass, replace

from fleetops.engines import engine
from fleetops.engines.attribution import target_services
from fleetops.engines.condition import Condition, condition
from fleetops.fleet.read import Sessions
from fleetops.model.errors import FleetopsError, Refused, Unknown
from fleetops.model.finding import Finding, Severity
from fleetops.model.fleet import Profile
from fleetops.steps.support.base import Situation

_DEADLINE_S = 30.0
# One silent request proves little on a busy server (facts/engines.md F 13).
_TRIES = 2


@dataclass(frozen=True)
class Health:
    """`well`: why nothing needs doing, "" where something does; the situation with what was found on top."""

    well: str
    situation: Situation


def judge_health(situation: Situation, sessions: Sessions) -> Health:
    """What the checks found, and whether the service really generates.

    Raises Unknown where facts are missing and nothing certain is wrong: that is no reason to act. Raises Refused for
    a service that is still coming up.
    """
    if any(finding.severity is Severity.CRITICAL for finding in situation.findings):
        return Health("", situation)
    _must_be_known(situation)
    profile = situation.profile
    if profile is None:
        return Health("nothing is wrong, and no profile says what should run here", situation)
    conditions = {condition(service) for service in target_services(situation.observation)}
    if Condition.STARTING in conditions:
        raise Refused(
            f"a service is being started on {situation.node_name}: it is not recovered before it is up or dead",
            guard="starting",
            host=situation.node_name,
            hint=f"fleetops probe {situation.node_name}",
        )
    if tokens := _generates(situation, profile, sessions):
        return Health(
            f"{profile.name} is serving: all ranks live, {tokens} tokens were generated just now", situation
        )
    return Health("", replace(situation, findings=(_silent(situation, profile), *situation.findings)))


def _must_be_known(situation: Situation) -> None:
    unknown = [finding for finding in situation.findings if finding.severity is Severity.UNKNOWN]
    if unknown:
        told = "; ".join(f"{finding.subject}: {finding.evidence}" for finding in unknown)
        raise Unknown(
            f"whether {situation.node_name} is well cannot be told: {told}",
            host=situation.node_name,
            hint=f"nothing was changed; fleetops probe {situation.node_name}",
        )


def _silent(situation: Situation, profile: Profile) -> Finding:
    return Finding(
        host=situation.node_name,
        check="not-generating",
        severity=Severity.CRITICAL,
        subject="not generating",
        evidence=f"{profile.name}'s processes live, and port {profile.port} answered none of {_TRIES} requests for"
        f" a few tokens within {_DEADLINE_S:g} s each",
    )


def _generates(situation: Situation, profile: Profile, sessions: Sessions) -> int:
    """Tokens of one short generation; 0 where none came. Processes that live prove nothing."""
    of = engine(profile.engine)
    method, path, body = of.generate("Say yes:", 4)
    for _ in range(_TRIES):
        try:
            session = sessions.session(situation.observation.node)
            answer = session.request(profile.port, method, path, body, deadline_s=_DEADLINE_S)
            if answer.status == 200 and (tokens := of.parse_generation(answer.body).tokens):
                return tokens
        except (OSError, ValueError, FleetopsError):
            continue
    return 0
