"""What is measured: samples, the rows that they make, and what came of one piece."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.summary import median

MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of one contestant.

    Attributes:
        cpu_s: user and system time of the process and of all that it waited for.
        peak_bytes: proportional set size (PSS) summed over the process tree, the highest of what was sampled; 0 where
            the run was too short for that.
        threads, processes: the most that were seen at once in that tree.
        hosts, answered: how many were asked, and how many gave the right answer.
        node_cpu_s: CPU of the servers and of what they ran, where nothing of it goes on after the run.
        fault: what else was wrong with the run, "" where nothing was.
        more: further numbers that only this piece has.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int = 0
    threads: int = 0
    processes: int = 0
    hosts: int = 1
    answered: int = 1
    node_cpu_s: float | None = None
    fault: str = ""
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def wrong(self) -> str:
        """Why this run is not to be timed; "" where every host answered rightly."""
        if self.fault:
            return self.fault
        left = self.hosts - self.answered
        return f"{left} of {self.hosts} hosts gave no right answer" if left else ""

    def value(self, metric: str) -> float | None:
        """One number by its name; those of `more` go by their own. None where this run has it not."""
        if metric in self.more:
            return self.more[metric]
        values = {
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "cpu_ms_host": self.cpu_s * 1000 / self.hosts,
            "threads": float(self.threads),
            "processes": float(self.processes),
            "busy_cores": self.cpu_s / self.wall_s if self.wall_s else 0.0,
        }
        if self.peak_bytes:
            values["peak_mb"] = self.peak_bytes / MB
        if self.node_cpu_s is not None:
            values["node_cpu_ms_host"] = self.node_cpu_s * 1000 / self.hosts
        return values.get(metric)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contestant of a piece: its samples by round; `install` tells how to get one that is not there."""

    name: str
    version: str = ""
    samples: Mapping[int, Sample] = field(default_factory=dict)
    install: str = ""
    note: str = ""

    @property
    def wrong(self) -> str:
        """Why this row has no times; "" where it has."""
        if self.install:
            return f"not installed: {self.install}"
        if not self.samples:
            return "not run: no time left for it"
        faults = [sample.wrong for sample in self.samples.values() if sample.wrong]
        return f"failed in {len(faults)} of {len(self.samples)} rounds: {faults[0]}" if faults else ""

    def median(self, metric: str) -> float | None:
        """Over all rounds. None where the row failed, or has no such number."""
        values = list(self.by_round(metric).values())
        return median(values) if values else None

    def by_round(self, metric: str) -> dict[int, float]:
        """The number in each round; empty where the row failed."""
        return {} if self.wrong else dict(self._values(metric))

    def _values(self, metric: str) -> Iterator[tuple[int, float]]:
        for number, sample in self.samples.items():
            value = sample.value(metric)
            if value is not None:
                yield number, value


@dataclass(frozen=True, kw_only=True)
class PieceResult:
    """What came of one piece.

    Attributes:
        skipped: why it has no rows; `failed` where that is because something did not start, not because it is not here.
        abridged: how it is not the piece as it is defined.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    skipped: str = ""
    failed: bool = False
    abridged: str = ""

    def row(self, name: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.rows if row.name == name), None)

    def as_json(self) -> dict[str, Any]:
        """As docs/benchmark.json keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "PieceResult":
        """What `as_json` gave, after a way through a file."""
        rows = [_row(row) for row in body["rows"]]
        told = {key: tuple(body[key]) for key in ("columns", "notes")}
        return cls(**{**body, **told, "rows": tuple(rows)})


def _row(body: Mapping[str, Any]) -> Row:
    samples = {int(number): Sample(**sample) for number, sample in body["samples"].items()}
    return Row(**{**body, "samples": samples})
