"""Two launchers for one port: the second cannot serve, and takes memory and GPUs until it gives up."""

from collections import Counter

from fleetops.checks.support.saying import counted, found, lacking, pids
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES

_NAME = "service-duplicate"


def judge(observation: Observation) -> list[Finding]:
    """One finding for each port that several living launchers claim."""
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    launchers = [
        (service.port, service.launcher)
        for service in observation.services
        if service.launcher and service.launcher.is_alive and service.port is not None
    ]
    claims = Counter(port for port, _ in launchers)
    return [
        found(
            _NAME,
            observation,
            Severity.WARNING,
            "service twice",
            f"{counted(count, 'launcher')} for port {port} "
            f"({pids(launcher for claimed, launcher in launchers if claimed == port)})",
            command="probe",
        )
        for port, count in claims.items()
        if count > 1
    ]


CHECK = Check(name=_NAME, title="no port has two launchers", judge=judge)
