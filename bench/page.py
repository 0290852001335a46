"""docs/benchmark.md: the verdicts first, then a table for each piece."""

from collections.abc import Iterator, Mapping, Sequence

from bench.judging import Verdict
from bench.model import PieceResult
from bench.tables import FIRST_RIGHT, remarks, result_rows, summary, verdict_rows

HEAD = """\
# Benchmark

Written by `make bench`. Real OpenSSH servers on loopback addresses, with configuration and keys of their own; everyone
reaches the same servers, in rounds in which each runs once, in another order each time. A figure is the median of the
rounds, a ratio the median of the ratios within each round. Absolute times say little: client and servers share the
cores, and a busy machine slows all of them. A contestant that did not get the right answer from every host has no
figures.

- *x first*: wall over that of the first row.
- *CPU*: user and system time of the client and of all that it waited for, its start included; for a ControlMaster also
  the masters' own.
- *node CPU*: of the servers, and of what they ran.
- *peak*: the proportional set size of the client's whole process tree, sampled.

32 hosts at a time, for everyone who can be told so. Host keys are verified by all but those of whom it is said.
"""


def page(results: Sequence[PieceResult], verdicts: Sequence[Verdict]) -> str:
    """The whole page, each piece with the machine and the day that it was measured on."""
    parts = [HEAD, *_targets(verdicts)]
    for result in results:
        parts.append(f"## {result.title}\n\n{_origin(result)}\n")
        if result.rows:
            parts.append(_table(result_rows(result), FIRST_RIGHT))
        if said := remarks(result):
            parts.append("".join(f"- {_escaped(line)}\n" for line in said))
    return "\n".join(parts)


def _targets(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if verdicts:
        yield f"## Targets\n\n{summary(verdicts)}.\n"
        yield _table(verdict_rows(verdicts), len(verdict_rows([])[0]))


def _origin(result: PieceResult) -> str:
    if result.skipped:
        return f"`{result.name}`: not run, {result.skipped}."
    abridged = f", only {result.abridged}: no measurement" if result.abridged else ""
    return f"`{result.name}`: {machine_line(result.machine)}, {result.seconds:.0f} s{abridged}."


def machine_line(machine: Mapping[str, str | int | float]) -> str:
    """All that is known of where it was measured, in one line."""
    date = machine.get("date", "")
    rest = (f"{name} {value}" for name, value in machine.items() if name != "date" and value != "")
    return ", ".join([str(date), *rest])


def _table(rows: Sequence[Sequence[str]], first_right: int) -> str:
    rule = [" --- " if at < first_right else " ---: " for at in range(len(rows[0]))]
    lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]]) + "\n"


def _escaped(text: str) -> str:
    """A pipe would end the cell, and what stands in <> or between stars would not be shown."""
    for sign in "|<>":
        text = text.replace(sign, f"\\{sign}")
    return text
