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

    @property
    def failed(self) -> tuple[str, ...]:
        """Hosts that were not reached, and those on which the command failed or did not end in time."""
        return (
            *(host for host, outcome in self.outcomes if not outcome.ok),
            *(host for host, _ in self.failures),
        )

    def joined(self, later: "RunReport") -> "RunReport":
        """With what came of further hosts."""
        return RunReport(
            outcomes=(*self.outcomes, *later.outcomes), failures=(*self.failures, *later.failures)
        )
