"""What a piece of the benchmark is, and what it is handed."""

import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import machine
from bench.contestants.base import Task
from bench.fleet import Fleet
from bench.model import PieceResult, Row
from bench.rounds import Entry, interleave
from bench.servers import Servers, serve
from bench.tools import Tools


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What holds for the whole run.

    Attributes:
        hosts, rounds: in place of the piece's own numbers; None leaves them.
        quick: one round on few hosts, to see that everything works; its figures mean nothing.
        source: the folder of an engine's source, for the pieces that read one.
        budget_s: what the rounds of one piece may take.
        tell: progress, line by line.
    """

    tools: Tools
    hosts: int | None = None
    rounds: int | None = None
    quick: bool = False
    source: Path | None = None
    budget_s: float = 530.0
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One table. `hosts` 0 means that there is no number of hosts to choose; `quick_hosts` are enough to see it work."""

    name: str
    title: str
    run: "Callable[[Piece, Bench], PieceResult]"
    hosts: int = 0
    quick_hosts: int = 4
    rounds: int = 5
    columns: Sequence[str] = ("wall_s", "times", "cpu_ms_host", "node_cpu_ms_host", "peak_mb")
    notes: Sequence[str] = field(default=())

    def unlike(self, bench: Bench) -> str:
        """How this run is not the piece as it is defined; its figures are not judged."""
        if bench.quick:
            return "--quick"
        return f"--hosts {bench.hosts}" if self.hosts and bench.hosts else ""

    def sized(self, bench: Bench) -> "Piece":
        """With the numbers that this run asks for."""
        hosts = bench.hosts or (self.quick_hosts if bench.quick else self.hosts)
        rounds = bench.rounds or (1 if bench.quick else self.rounds)
        return replace(self, hosts=hosts if self.hosts else 0, rounds=rounds)

    def measure(self, bench: Bench, entries: Sequence[Entry], lacking: Sequence[Row] = ()) -> PieceResult:
        """All rounds, and the result; `lacking` are the rows of those who are not installed."""
        described = machine.describe()
        began = time.monotonic()
        rows = interleave(entries, self.rounds, budget_s=bench.budget_s, tell=bench.tell)
        return PieceResult(
            name=self.name,
            title=self.title.format(hosts=self.hosts),
            columns=tuple(self.columns),
            rows=(*rows, *lacking),
            notes=tuple(self.notes),
            machine=described,
            seconds=time.monotonic() - began,
            abridged=self.unlike(bench),
        )


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of the piece's own. Its path is short: that of a ControlMaster's socket may have 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="fleetops-bench-") as made:
        yield Path(made)


@contextmanager
def fleet_of(count: int) -> Iterator[tuple[Servers, Fleet]]:
    """So many hosts, and what clients need to reach them."""
    with folder() as own, serve(own / "s", count) as servers:
        yield servers, servers.fleet()


def short_command() -> Task:
    """`uname -r`: one process on the node, and an answer that is known and not in the question."""
    return Task(words=("uname", "-r"), expected=platform.release())
