"""Measuring the service on one node: find it, see who else it serves, and put a load on it."""

from collections.abc import Sequence

from fleetops.engines import engine
from fleetops.engines.condition import condition, is_wedged
from fleetops.facts import engine_source, listeners, processes, service_records
from fleetops.fleet.observe import find_services
from fleetops.fleet.read import Sessions, read_facts
from fleetops.model.engine import ENGINE_SOURCE, Service
from fleetops.model.errors import FleetopsError, Unknown, Unreachable, UsageError
from fleetops.model.exit import Exit
from fleetops.model.fleet import Node, Profile
from fleetops.model.load import Others, Target
from fleetops.model.measure import Measurement
from fleetops.steps.support.asking import Asking, BadStatus, OverSession
from fleetops.steps.support.serving import key_of, others_served

_METRICS_S = 5.0
_WANTS_KEY = {401, 403}


def find_service(
    sessions: Sessions, node: Node, *, profile: Profile | None, port: int | None, key: str
) -> tuple[Target, Asking]:
    """The service to measure, and how to ask it. Nothing but reads.

    `profile` tells the port where no running service does; a `port` overrules both. `key` is the API key, "" for the
    profile's own.

    Raises:
        Unreachable: the node could not be looked at.
        Unknown: no service is there that would answer.
        UsageError: there are several.
    """
    facts = read_facts(
        sessions,
        node,
        [
            processes.FACT,
            listeners.FACT,
            service_records.FACT,
            engine_source.fact(node.engine, node.source),
        ],
    )
    if quiet := facts.silence:
        raise Unreachable(
            f"{node.name} could not be looked at: {quiet.why}",
            host=node.name,
            hint=quiet.hint or f"fleetops probe {node.name}",
        )
    services = find_services(facts)
    chosen = port or _port(node, services, profile)
    service = next((one for one in services if one.port == chosen), None)
    if service and is_wedged(service):
        raise Unknown(
            f"the service on {node.name} would not answer: {condition(service).value}",
            host=node.name,
            hint=f"fleetops probe {node.name}; fleetops recover {node.name} --dry-run",
        )
    source = facts.value(ENGINE_SOURCE)
    of = engine(service.engine if service else node.engine)
    asking = Asking(open=OverSession(sessions.session(node), chosen), key=key or key_of(profile))
    target = Target(
        node=node.name,
        port=chosen,
        engine=of.name,
        title=of.title,
        version=source.version if source and source.engine == of.name else "",
        model=_model(asking, node.name, chosen, _ports(services)),
        others=_others(asking, of.name),
    )
    return target, asking


def _port(node: Node, services: Sequence[Service], profile: Profile | None) -> int:
    """The profile's port where a service has it or none is seen; else that of the only service."""
    ports = _ports(services)
    if profile and (profile.port in ports or not ports):
        return profile.port
    if len(ports) == 1:
        return ports[0]
    if ports:
        named = ", ".join(map(str, ports))
        raise UsageError(
            f"several services run on {node.name}, on ports {named}",
            host=node.name,
            hint="choose with --port P",
        )
    raise Unknown(
        f"no service runs on {node.name}, and no profile says which port one would have",
        host=node.name,
        hint=f"fleetops probe {node.name}; --port P names a port",
    )


def _ports(services: Sequence[Service]) -> tuple[int, ...]:
    return tuple(sorted({service.port for service in services if service.port}))


def _model(asking: Asking, node: str, port: int, seen: Sequence[int]) -> str:
    """The served model's name. Raises Unknown, in words, where nothing there answers as it should."""
    hint = f"fleetops probe {node}"
    try:
        return asking.model()
    except ConnectionRefusedError:
        elsewhere = (
            f"the engine there has port {', '.join(map(str, seen))}" if seen else "no engine runs there"
        )
        why = "it has not opened it (yet)" if port in seen else elsewhere
        message = f"no service answers on port {port} of {node}: {why}"
    except TimeoutError:
        message = f"the service on port {port} of {node} is silent: no answer from /v1/models"
    except BadStatus as error:
        message = f"the service on port {port} of {node} does not tell its model: {error}"
        if error.status in _WANTS_KEY:
            hint = "it does not take the key that it was given" if asking.key else "--api-key-env NAME"
    except (OSError, ValueError) as error:
        message = f"what answers on port {port} of {node} is no OpenAI-compatible service: {error}"
    raise Unknown(message, host=node, hint=hint)


def _others(asking: Asking, name: str) -> Others | None:
    """Who else is served; None where the metrics are off, or do not say."""
    try:
        return others_served(asking, engine(name), deadline_s=_METRICS_S)[1]
    except (OSError, FleetopsError):
        return None


def exit_code(found: Measurement) -> Exit:
    """130 where it was interrupted, 4 where nothing was answered, 1 where something failed, else 0."""
    if found.interrupted:
        return Exit.INTERRUPTED
    if not found.whole:
        return Exit.FAILED
    return Exit.FINDINGS if found.errors else Exit.FINE
