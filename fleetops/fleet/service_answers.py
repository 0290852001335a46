"""What a service that seems whole answers: an own request for a token, tried more than once, and its own metrics."""

import time
from typing import Any

from fleetops.engines import Engine, engine
from fleetops.fleet.health import whole_service
from fleetops.fleet.read import Sessions
from fleetops.model.engine import GENERATED, SERVICE_METRICS, Generated, Service, ServiceMetrics
from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Profile
from fleetops.model.machine import LISTENERS
from fleetops.model.session import Session
from fleetops.steps.support.asking import Asking, OverSession
from fleetops.steps.support.serving import NoGeneration, generate, key_of

_DEADLINE_S = 10.0
_METRICS_S = 5.0
# One silent request proves little on a busy server (facts/engines.md F 13).
_TRIES = 2
_TOKENS = 1
_OK = 200


def answers(sessions: Sessions, observation: Observation) -> dict[str, Any]:
    """Readings by name; none where there is nothing to ask: no whole service, or none that listens yet."""
    profile = observation.profile
    service = _to_ask(observation, profile) if profile else None
    if profile is None or service is None:
        return {}
    try:
        session = sessions.session(observation.node)
    except FleetopsError as error:
        return {GENERATED.name: Missing(Gap.UNREACHABLE, error.message)}
    asking = Asking(open=OverSession(session, profile.port), key=key_of(profile))
    of = engine(service.engine)
    return {GENERATED.name: _generated(asking, of), SERVICE_METRICS.name: _metrics(session, profile.port, of)}


def _to_ask(observation: Observation, profile: Profile) -> Service | None:
    """The service on the profile's port, of which nothing is dead, and whose port listens."""
    listening = {one.port for one in observation.node_facts.value(LISTENERS) or ()}
    return whole_service(observation, profile) if profile.port in listening else None


def _generated(asking: Asking, of: Engine) -> Generated | Missing:
    why = ""
    for attempt in range(1, _TRIES + 1):
        began = time.monotonic()
        try:
            tokens = generate(asking, of, _TOKENS, deadline_s=_DEADLINE_S)
        except NoGeneration as error:
            if error.busy:
                return Missing(Gap.UNPARSABLE, f"turned away for its load: {error}")
            why = str(error)
        except Unreachable as error:
            return Missing(Gap.UNREACHABLE, error.message)
        else:
            return Generated(tokens=tokens, seconds=time.monotonic() - began, tries=attempt)
    return Missing(Gap.TIMED_OUT, f"{_TRIES} requests for a token: {why}")


def _metrics(session: Session, port: int, of: Engine) -> ServiceMetrics | Missing:
    """Absent where they are not switched on: then nothing is to be concluded from them."""
    try:
        answer = session.request(port, "GET", of.metrics_path, deadline_s=_METRICS_S)
    except TimeoutError:
        return Missing(Gap.TIMED_OUT, f"{of.metrics_path}: no answer in {_METRICS_S:g} s")
    except (OSError, FleetopsError) as error:
        return Missing(Gap.UNREACHABLE, str(error))
    if answer.status != _OK:
        return Missing(Gap.ABSENT, f"{of.metrics_path} says {answer.status}")
    text = answer.body.decode("utf-8", "replace")
    others, pools = of.parse_others(text), of.parse_metrics(text)
    device = [pool.device_tokens for pool in pools if pool.device_tokens is not None]
    host = [pool.host_tokens for pool in pools if pool.host_tokens is not None]
    return ServiceMetrics(
        running=others.running if others else None,
        waiting=others.waiting if others else None,
        device_tokens=min(device, default=None),
        host_tokens=min(host, default=None),
    )
