"""A service that is not the process that the last sweep saw: it has crashed, or somebody has started it again."""

from fleetops.checks.support.saying import found
from fleetops.checks.support.the_service import the_service
from fleetops.model.duration import show_duration
from fleetops.model.engine import SERVICE_RECORDS, Service
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import IDENTITY

_NAME = "service-restarted"


def judge(observation: Observation) -> list[Finding]:
    """A launch by fleetops is on record and is told by `fleetops runs`; a reboot of the node explains it as well."""
    before, service = observation.past.words.get("launcher", ""), the_service(observation)
    launcher = service.launcher if service else None
    if not before or not service or launcher is None or before == f"{launcher.pid}:{launcher.start_ticks}":
        return []
    identity = observation.node_facts.value(IDENTITY)
    if identity is None or _rebooted(observation, identity.boot_id) or _on_record(observation, service):
        return []
    evidence = (
        f"pid {launcher.pid} serves port {service.port}, up {show_duration(launcher.age_s(identity))};"
        f" the last sweep saw pid {before.partition(':')[0]}"
    )
    return [found(_NAME, observation, Severity.WARNING, "service restarted", evidence, command="probe")]


def _rebooted(observation: Observation, boot_id: str) -> bool:
    return observation.past.words.get("boot-id", boot_id) != boot_id


def _on_record(observation: Observation, service: Service) -> bool:
    launcher = service.launcher
    return launcher is not None and any(
        (one.pid, one.start_ticks) == (launcher.pid, launcher.start_ticks)
        for one in observation.node_facts.value(SERVICE_RECORDS) or ()
    )


CHECK = Check(
    name=_NAME,
    title="the service is the one that the last sweep saw",
    judge=judge,
    sweeps_only=True,
    latched=True,
)
