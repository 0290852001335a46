"""One sweep of the fleet, and what has become of each finding over several."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Literal

from fleetops.model.finding import Finding, Severity, worst_of
from fleetops.model.past import Remembered

SILENCES = ("unreachable", "no-banner")
"""The checks that say that a host told nothing: what else is wrong there cannot be seen meanwhile."""

KEPT = 12
"""How many sightings of a finding are kept."""

FLAPS = 4
"""A finding that has come or gone so often among those flaps."""


@dataclass(frozen=True, kw_only=True)
class HostSweep:
    """What one sweep has found on one host.

    Attributes:
        at: when it was asked, seconds since the epoch; seconds: how long it took to answer.
        gaps: fact name -> why it is not known.
        findings: worst first; none where all is well.
    """

    name: str
    kind: Literal["node", "hypervisor"]
    at: float
    seconds: float
    findings: tuple[Finding, ...] = ()
    remembered: Remembered = field(default_factory=Remembered)
    gaps: Mapping[str, str] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """The worst that was found."""
        return worst_of(finding.severity for finding in self.findings)


class Sighting(StrEnum):
    """What one sweep says of one finding: there, not there, or not to be told (its host was silent, a fact missing)."""

    SEEN = "1"
    GONE = "0"
    UNTOLD = "?"


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """A finding over several sweeps.

    Attributes:
        finding: as it was last seen.
        first_seen, last_seen: seconds since the epoch.
        sightings: one character a sweep, oldest first, of the latest few.
        count: in how many sweeps it was seen since it was first.
        firm: seen often enough to be believed, and not gone for long enough to be clear.
        cleared_at: when it was found to be gone; None where it is not.
        acknowledged: by whom and why, "" where nobody has.
        silenced_until: until when it is not to be reported; 0.0 where it is.
    """

    finding: Finding
    first_seen: float
    last_seen: float
    sightings: str = ""
    count: int = 1
    firm: bool = False
    cleared_at: float | None = None
    acknowledged: str = ""
    silenced_until: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """Which finding it is: host, check, subject."""
        return (self.finding.host, self.finding.check, self.finding.subject)

    @property
    def is_new(self) -> bool:
        """It was seen for the first time just now."""
        return self.count == 1 and self.sightings.endswith(Sighting.SEEN)

    @property
    def told(self) -> str:
        """The sightings of sweeps that could tell."""
        return self.sightings.replace(Sighting.UNTOLD, "")

    @property
    def is_flapping(self) -> bool:
        """It comes and goes."""
        return sum(one != other for one, other in pairwise(self.told)) >= FLAPS

    @property
    def was_away(self) -> bool:
        """The latest sweep and the one before it do not say the same."""
        return len(set(self.sightings[-2:])) > 1

    @property
    def is_seen(self) -> bool:
        """The latest sweep has seen it."""
        return self.sightings.endswith(Sighting.SEEN)


@dataclass(frozen=True, kw_only=True)
class Silenced:
    """A finding that is not reported until then, by whose word and why."""

    host: str
    check: str
    until: float
    at: float
    who: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One sweep.

    Attributes:
        hosts: in the order in which they were asked for.
        tracked: the findings that are there or not clear yet, worst first; cleared: those that this sweep has cleared.
        number: which one it is in the store; 0 where it was not kept.
    """

    at: float
    seconds: float
    hosts: tuple[HostSweep, ...]
    tracked: tuple[Tracked, ...] = ()
    cleared: tuple[Tracked, ...] = ()
    number: int = 0

    @property
    def reported(self) -> tuple[Tracked, ...]:
        """What counts: all that is there, less what somebody has silenced."""
        return tuple(one for one in self.tracked if not one.silenced_until)

    @property
    def severities(self) -> dict[str, Severity]:
        """Of every host the worst that is reported."""
        found: dict[str, list[Severity]] = {host.name: [] for host in self.hosts}
        for one in self.reported:
            found.setdefault(one.finding.host, []).append(one.finding.severity)
        return {name: worst_of(severities) for name, severities in found.items()}
