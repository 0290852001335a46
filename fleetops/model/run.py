"""What `fleetops run` brought back."""

from dataclasses import dataclass

from fleetops.model.command import Outcome
from fleetops.model.errors import FleetopsError


@dataclass(frozen=True)
class RunReport:
    """One command on many hosts.

    Attributes:
        outcomes: (host, what came back), in the order in which the hosts were named.
        failures: (host, why nothing came back).
    """

    outcomes: tuple[tuple[str, Outcome], ...]
    failures: tuple[tuple[str, FleetopsError], ...]
