"""The same for a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bench.judging import Verdict
from bench.model import PieceResult
from bench.page import machine_line
from bench.tables import FIRST_RIGHT, remarks, result_rows, summary, verdict_rows
from fleetops.render.table import columns


class Screen:
    """Tables on stdout, progress on stderr; nothing is wrapped, piped or not."""

    def __init__(self) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)

    def tell(self, line: str) -> None:
        """Progress."""
        self._err.print(Text(line, style="dim"))

    def result(self, result: PieceResult) -> None:
        """One piece's table, and what there is to say of it."""
        self._out.print(Text(f"{result.name}: {result.title}", style="bold"))
        if result.skipped:
            self._out.print(Text(f"  not run: {result.skipped}", style="yellow"))
        if result.rows:
            rows = result_rows(result)
            self._out.print(columns(rows, right=range(FIRST_RIGHT, len(rows[0])), indent=2))
        for line in remarks(result):
            self._out.print(Text(f"  {line}", style="dim"))
        self._out.print()

    def verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """What holds and what does not."""
        if verdicts:
            styles = {one.words: _style(one) for one in verdicts}
            self._out.print(columns(verdict_rows(verdicts), right=(3,), styles=styles))
            self._out.print(f"{summary(verdicts)}")

    def machine(self, result: PieceResult) -> None:
        """Where it was measured."""
        if result.machine:
            self._out.print(Text(machine_line(result.machine), style="dim"))


def _style(verdict: Verdict) -> str:
    return {True: "green", False: "red", None: "yellow"}[verdict.holds]
