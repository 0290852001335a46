"""What earlier sweeps remember of a host: numbers over time, and words as they last were."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One number at one time (seconds since the epoch, the controller's clock)."""

    at: float
    value: float


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What a sweep keeps of one host.

    Attributes:
        numbers: name -> value in the unit that the name ends in (`mem-available-bytes`, `gpu-GPU-1a2b-ecc-uncorrected-count`).
        words: name -> text (`boot-id`, `launcher`, `driver-version`).
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Past:
    """What is remembered of one host before the present sweep.

    Attributes:
        swept_at: when it was last swept; None where it never was.
        words: as they were when each was last known.
        series: name -> its samples, oldest first; only the latest few hours.
        every_s: how far apart sweeps are, by what was seen; None where that is not known.
    """

    swept_at: float | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    every_s: float | None = None

    def last(self, name: str) -> float | None:
        """The latest value under that name; None where there is none."""
        samples = self.series.get(name, ())
        return samples[-1].value if samples else None
