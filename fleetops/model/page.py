"""What the page of a fleet tells: health, numbers, findings and what was done, over one stretch of time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fleetops.model.finding import Severity
from fleetops.model.record import RunSummary
from fleetops.model.sweep import Tracked


@dataclass(frozen=True, kw_only=True)
class Band:
    """Neighbouring cells of a timeline that show the same.

    Attributes:
        first: the number of the first cell; cells: how many.
        severity: the worst that a sweep has found in them; None where there was no sweep.
    """

    first: int
    cells: int
    severity: Severity | None


@dataclass(frozen=True, kw_only=True)
class Spell:
    """A stretch of sweeps in a row that found the same severity.

    Attributes:
        since: when the first of them was; until: when the first one after them was, or the last one of all.
        lasts: there is none after them.
    """

    severity: Severity
    since: float
    until: float
    sweeps: int
    lasts: bool


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number over the whole stretch, in the unit that its name ends in.

    Attributes:
        latest: as it was last read; at: when that was, which may be long before the host's last sweep.
    """

    name: str
    latest: float
    at: float
    least: float
    most: float
    samples: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One number as it is drawn: of each cell its least and its most, so that no peak is lost.

    Attributes:
        points: (seconds since the epoch, value), in order; None where nothing was read for some time.
    """

    figure: Figure
    points: tuple[tuple[float, float | None], ...]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something that was done to a host, at a time.

    Attributes:
        kind: a launch, or another run (a recovery, a kill, a reset).
        what: `launch hicache48`, `recover`; note: how it ended, what it came to.
    """

    at: float
    kind: Literal["launch", "run"]
    what: str
    note: str = ""
    run_id: str = ""


@dataclass(frozen=True, kw_only=True)
class HostPage:
    """One host.

    Attributes:
        about: what it is, in words (`8 GPUs`, `lxc 174 on pve-01`).
        severity: the worst of what is there and not silenced; None where it was never swept within the stretch.
        swept_at: the last sweep of it; None likewise.
        sweeps: how many there were; well: how many of them found nothing.
        curves: name -> what is drawn; figures: every other number.
        found: what is there, the worst first; cleared: what is gone, the latest first.
    """

    name: str
    kind: Literal["node", "hypervisor"]
    about: tuple[str, ...] = ()
    severity: Severity | None = None
    swept_at: float | None = None
    sweeps: int = 0
    well: int = 0
    bands: tuple[Band, ...] = ()
    spells: tuple[Spell, ...] = ()
    curves: Mapping[str, Curve] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    found: tuple[Tracked, ...] = ()
    cleared: tuple[Tracked, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FleetPage:
    """The whole.

    Attributes:
        since: where the stretch begins, seconds since the epoch; at: where it ends, when the page is written.
        cell_s: how long one cell of a timeline is; begin: when the first one begins; cells: how many there are.
        swept: when the latest sweep began and how long it took; None before the first.
        runs: what was done, the latest first.
    """

    at: float
    since: float
    begin: float
    cell_s: float
    cells: int
    swept: tuple[float, float] | None
    hosts: tuple[HostPage, ...]
    runs: tuple[RunSummary, ...] = ()
