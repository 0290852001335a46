"""The service that the sweep's checks of services are about: the one on the profile's port, with its launcher."""

from fleetops.model.engine import Service
from fleetops.model.finding import Observation


def the_service(observation: Observation) -> Service | None:
    """None where no profile says what runs here, or nothing runs on its port."""
    profile = observation.profile
    if profile is None:
        return None
    led = (one for one in observation.services if one.launcher and one.launcher.is_alive)
    return next((one for one in led if one.port == profile.port), None)
