"""Whether `recover` has anything to do: a node is well only if its service is whole and answers with generations."""

import time
from dataclasses import dataclass, replace

from fleetops.engines import engine
from fleetops.engines.attribution import target_services
from fleetops.engines.support.in_force import differences
from fleetops.fleet.read import Sessions
from fleetops.model.engine import Service
from fleetops.model.errors import FleetopsError, Refused, Unknown
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.fleet import Profile
from fleetops.model.machine import IDENTITY
from fleetops.steps.support.asking import Asking, OverSession
from fleetops.steps.support.base import Situation
from fleetops.steps.support.serving import NoGeneration, generate, key_of

_DEADLINE_S = 30.0
# One silent request proves little on a busy server (facts/engines.md F 13).
_TRIES = 2
_TOKENS = 4
_PAUSE_S = 2.0


@dataclass(frozen=True)
class Health:
    """`well`: why nothing needs doing, "" where something does; the situation with what was found on top."""

    well: str
    situation: Situation


def judge_health(situation: Situation, sessions: Sessions) -> Health:
    """Whether the profile's own service serves comes first: what else is wrong on the node is no reason to end it.

    Raises Unknown where facts are missing and nothing certain is wrong: that is no reason to act. Raises Refused for
    a service that is still coming up.
    """
    profile = situation.profile
    whole = whole_service(situation.observation, profile) if profile else None
    if profile and whole:
        if tokens := _generates(situation, profile, whole.engine, sessions):
            _must_be_known(situation)
            return Health(_serving(whole, profile, tokens), situation)
        _must_be_old_enough(situation, profile, whole)
        return Health("", replace(situation, findings=(_silent(situation, profile), *situation.findings)))
    if any(finding.severity is Severity.CRITICAL for finding in situation.findings):
        return Health("", situation)
    _must_be_known(situation)
    if profile is None:
        return Health("nothing is wrong, and no profile says what should run here", situation)
    return Health("", situation)


def whole_service(observation: Observation, profile: Profile) -> Service | None:
    """The service on the profile's port of which nothing is dead: whole, or with ranks that are still to come."""
    for service in target_services(observation):
        if (
            service.port == profile.port
            and service.launcher
            and not any(one.is_zombie for one in service.processes)
        ):
            return service
    return None


def _serving(service: Service, profile: Profile, tokens: int) -> str:
    """Its flags are its own to say: a service that was started by hand is not the profile's for serving on its port."""
    differs = differences(service, profile)
    what = f"a service that is not as profile {profile.name} says" if differs else profile.name
    return (
        f"{what} is serving on port {profile.port}: all ranks live, {tokens} tokens were generated just now"
    )


def _must_be_old_enough(situation: Situation, profile: Profile, service: Service) -> None:
    """A service that is silent within its own ready-deadline is coming up, as far as anybody can tell."""
    identity = situation.observation.node_facts.value(IDENTITY)
    launcher = service.launcher
    if identity is None or launcher is None:
        return
    age_s = launcher.age_s(identity)
    if age_s < profile.ready_deadline_s:
        node = situation.node_name
        raise Refused(
            f"a service is coming up on {node} (pid {launcher.pid}, for {age_s:.0f} s; its profile gives it"
            f" {profile.ready_deadline_s:g} s): it is not recovered before that is over",
            guard="starting",
            host=node,
            hint=f"fleetops probe {node} shows how it fares; fleetops kill {node} ends it now",
        )


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
        evidence=f"the processes on port {profile.port} live, and {_TRIES} requests for a few tokens got none"
        f" (each within {_DEADLINE_S:g} s)",
    )


def _generates(situation: Situation, profile: Profile, of: str, sessions: Sessions) -> int:
    """Tokens of one short generation; 0 where none came. Processes that live prove nothing."""
    session = sessions.session(situation.observation.node)
    service = Asking(open=OverSession(session, profile.port), key=key_of(profile))
    for attempt in range(_TRIES):
        time.sleep(_PAUSE_S if attempt else 0)
        try:
            return generate(service, engine(of), _TOKENS, deadline_s=_DEADLINE_S)
        except (NoGeneration, FleetopsError):
            continue
    return 0
