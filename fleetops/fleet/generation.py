"""Whether a service that seems whole really generates: an own request for a few tokens, tried more than once."""

import time

from fleetops.engines import engine
from fleetops.engines.attribution import target_services
from fleetops.fleet.read import Sessions
from fleetops.model.engine import Generated, Service
from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Profile
from fleetops.model.machine import LISTENERS
from fleetops.steps.support.asking import Asking, OverSession
from fleetops.steps.support.serving import NoGeneration, generate, key_of

_DEADLINE_S = 10.0
# One silent request proves little on a busy server (facts/engines.md F 13).
_TRIES = 2
_TOKENS = 1


def generation(sessions: Sessions, observation: Observation) -> Generated | Missing | None:
    """What came of it; None where there is nothing to ask: no whole service, or none that listens yet."""
    profile = observation.profile
    service = _to_ask(observation, profile) if profile else None
    if profile is None or service is None:
        return None
    try:
        session = sessions.session(observation.node)
    except FleetopsError as error:
        return Missing(Gap.UNREACHABLE, error.message)
    asking = Asking(open=OverSession(session, profile.port), key=key_of(profile))
    why = ""
    for attempt in range(1, _TRIES + 1):
        began = time.monotonic()
        try:
            tokens = generate(asking, engine(service.engine), _TOKENS, deadline_s=_DEADLINE_S)
        except NoGeneration as error:
            if error.busy:
                return Missing(Gap.UNPARSABLE, f"turned away for its load: {error}")
            why = str(error)
        except Unreachable as error:
            return Missing(Gap.UNREACHABLE, error.message)
        else:
            return Generated(tokens=tokens, seconds=time.monotonic() - began, tries=attempt)
    return Missing(Gap.TIMED_OUT, f"{_TRIES} requests for a token: {why}")


def _to_ask(observation: Observation, profile: Profile) -> Service | None:
    """The service on the profile's port, of which nothing is dead, and whose port listens."""
    listening = {one.port for one in observation.node_facts.value(LISTENERS) or ()}
    for service in target_services(observation):
        whole = service.launcher and not any(one.is_zombie for one in service.processes)
        if service.port == profile.port and whole and profile.port in listening:
            return service
    return None
