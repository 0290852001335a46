"""The service that belongs on the node is not running."""

from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES

_NAME = "service-absent"


def judge(observation: Observation) -> list[Finding]:
    """Judged by the profile's port; a node without a profile lacks nothing."""
    profile = observation.profile
    if profile is None:
        return []
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    running = [one for one in observation.services if one.launcher is not None and one.launcher.is_alive]
    if any(service.port == profile.port for service in running):
        return []
    elsewhere = listed(service.port for service in running if service.port is not None)
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "service absent",
            f"{profile.name} does not run on port {profile.port}"
            + (f"; a service runs on port {elsewhere} instead" if elsewhere else ""),
            command="recover --dry-run",
        )
    ]


CHECK = Check(name=_NAME, title="the profile's service runs", judge=judge)
