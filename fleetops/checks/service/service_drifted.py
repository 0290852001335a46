"""A service that runs otherwise than its profile says: what is known of the profile's launches is not known of it."""

from fleetops.checks.support.saying import found, listed
from fleetops.checks.support.the_service import the_service
from fleetops.engines.support.in_force import differences
from fleetops.model.finding import Check, Finding, Observation, Severity

_NAME = "service-drifted"


def judge(observation: Observation) -> list[Finding]:
    """By its own command line. Whether a service is there at all is another check's matter."""
    service, profile = the_service(observation), observation.profile
    differs = differences(service, profile) if service and profile else ()
    if not service or not profile or not differs:
        return []
    evidence = f"not as profile {profile.name} says: {listed(differs)}"
    return [found(_NAME, observation, Severity.WARNING, "service drifted", evidence, command="probe")]


CHECK = Check(name=_NAME, title="the service runs as its profile says", judge=judge, sweeps_only=True)
