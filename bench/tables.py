"""Results and verdicts as rows of words, for a page and for a terminal alike."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.judging import Verdict
from bench.model import PieceResult, Row
from bench.summary import paired_ratio

Cells = tuple[str, ...]


class Column(NamedTuple):
    """How a figure is headed, and with how many digits it is shown."""

    heading: str
    digits: int


COLUMNS: Mapping[str, Column] = {
    "wall_s": Column("wall s", 3),
    "times": Column("x first", 2),
    "cpu_s": Column("CPU s", 3),
    "cpu_ms_host": Column("CPU ms/host", 1),
    "node_cpu_ms_host": Column("node CPU ms/host", 1),
    "net_node_cpu_ms_host": Column("net node CPU ms/host", 1),
    "peak_mb": Column("peak MB", 0),
    "threads": Column("threads", 0),
    "processes": Column("processes", 0),
    "busy_cores": Column("cores busy", 2),
    "rest_s": Column("rest s", 2),
    "resolve_ms": Column("resolve ms", 2),
}
NOTHING = "-"
FIRST_RIGHT = 2
"""From this column on there are numbers."""


def result_rows(result: PieceResult) -> list[Cells]:
    """Heading and rows: who, which release, how many rounds, the medians."""
    heading = ("", "release", "rounds", *(COLUMNS[name].heading for name in result.columns))
    return [heading, *(_cells(result, row) for row in result.rows)]


def _cells(result: PieceResult, row: Row) -> Cells:
    figures = (_figure(result, row, name) for name in result.columns)
    rounds = NOTHING if row.wrong else str(len(row.samples))
    return (row.name, row.version, rounds, *figures)


def _figure(result: PieceResult, row: Row, name: str) -> str:
    if name == "times":
        value = paired_ratio(row.by_round("wall_s"), result.rows[0].by_round("wall_s"))
    else:
        value = row.median(name)
    return NOTHING if value is None else f"{value:,.{COLUMNS[name].digits}f}"


def remarks(result: PieceResult) -> list[str]:
    """What stands below the table: who has no figures and why, what is to be known of a row, and of the piece."""
    return [
        *(f"{row.name}: {row.wrong}" for row in result.rows if row.wrong),
        *(f"{row.name}: {row.note}" for row in result.rows if row.note),
        *result.notes,
    ]


VERDICT_HEADING: Cells = ("target", "piece", "against", "measured", "wanted", "")


def verdict_rows(verdicts: Sequence[Verdict]) -> list[Cells]:
    """Heading and rows."""
    return [VERDICT_HEADING, *map(_verdict, verdicts)]


def _verdict(verdict: Verdict) -> Cells:
    target = verdict.target
    measured = NOTHING if verdict.measured is None else _amount(verdict.measured, target.unit)
    against = verdict.against or (target.against[0] if len(target.against) == 1 else NOTHING)
    bound = "at least" if target.at_least else "at most"
    more = " more" if target.compare == "difference" else ""
    wanted = f"{bound} {_amount(target.limit, target.unit)}{more}"
    return (target.what, verdict.piece, against, measured, wanted, verdict.words)


def _amount(value: float, unit: str) -> str:
    """Three digits that count, and the unit."""
    text = f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many hold, of those that could be judged."""
    judged = [one for one in verdicts if one.holds is not None]
    held = sum(one.holds is True for one in judged)
    left = len(verdicts) - len(judged)
    return f"{held} of {len(judged)} targets that could be judged hold" + (
        f"; {left} could not" if left else ""
    )
