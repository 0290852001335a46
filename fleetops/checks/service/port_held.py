"""A service's port that listens without a living server behind it: the next start could not bind it."""

from fleetops.checks.support.saying import found, lacking
from fleetops.engines.condition import is_wedged
from fleetops.engines.support.process_table import ProcessTable
from fleetops.model.engine import Service
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import LISTENERS, PROCESSES, Process

_NAME = "port-held"


def judge(observation: Observation) -> list[Finding]:
    """One finding for each port of the profile or of a service that nobody, a dead service or a stranger holds."""
    if unknown := lacking(_NAME, observation, LISTENERS, PROCESSES):
        return unknown
    listeners = observation.node_facts.value(LISTENERS) or ()
    table = ProcessTable(observation.node_facts.value(PROCESSES) or ())
    findings = []
    for port in sorted(_ports(observation)):
        here = [listener for listener in listeners if listener.port == port]
        if not here:
            continue
        owners = [table.by_pid[pid] for one in here for pid in one.owners if pid in table.by_pid]
        fault = _fault(observation, owners)
        if fault:
            findings.append(
                found(
                    _NAME,
                    observation,
                    Severity.CRITICAL,
                    f"port {port} held",
                    f"port {port} listens, {fault}",
                    command="recover --dry-run",
                )
            )
    return findings


def _ports(observation: Observation) -> set[int]:
    ports = {service.port for service in observation.services if service.port is not None}
    return ports | ({observation.profile.port} if observation.profile else set())


def _fault(observation: Observation, owners: list[Process]) -> str:
    """What is wrong with who holds it; "" for a service with its launcher alive and none of its ranks dead."""
    if not owners:
        return "and no process that is visible here owns it"
    served = [service for service in observation.services if _owns(service, owners)]
    if not served:
        return f"and belongs to process {owners[0].pid} ({owners[0].title}), which is no engine's"
    if all(is_wedged(service) for service in served):
        return f"and is held by process {owners[0].pid} ({owners[0].title}) of a service that is dead in part"
    return ""


def _owns(service: Service, owners: list[Process]) -> bool:
    return any(owner in service.processes for owner in owners)


CHECK = Check(name=_NAME, title="ports belong to living services", judge=judge)
