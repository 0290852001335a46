"""The matrix as a table: on the terminal, and as the page of the documentation."""

import datetime as dt
from collections.abc import Iterable, Sequence

from fleetops.lab.breakages import all_breakages
from recovery_matrix.cell import Cell, spoken
from recovery_matrix.expected import ENDS, PLATFORMS

_HEAD = """\
# The recovery matrix

Every way in which the lab breaks a node, on every platform where it can happen: what `fleetops probe` found, which rung
of the ladder healed it or what refused, and what was verified afterwards. Rung 1 stops the service, 2 removes what it
left, 3 resets GPUs where their driver lives, 4 restarts the guest through Proxmox; 5 is a person's. `make
recovery-matrix` runs every cell in the [embedded lab](architecture.md) and writes this page; a cell that does not hold
fails it.

Made on {date}: {held} of {count} cells hold. The nodes have two GPUs; beside the container's a neighbour serves on the
same Proxmox host, and on every node a process runs that has nothing to do with it. `all 7 rows back` is the
before-and-after table: memory, GPU memory, GPUs, processes, holders, port, shared memory.
"""


def ending(cell: Cell) -> str:
    """How it ended, in a few words."""
    if cell.status is None:
        return "did not run"
    end = ENDS.get(cell.status, f"exit {cell.status}")
    if cell.status == 0:
        return f"{end} by {spoken(cell.rungs)}" if cell.rungs else "nothing to do"
    by = f" by {cell.guard}" if cell.guard else ""
    after = f" after {spoken(cell.rungs)}" if cell.rungs else ""
    return f"{end}{by}{after}, exit {cell.status}"


def row(cell: Cell) -> tuple[str, ...]:
    """One cell's row."""
    holds = "holds" if not cell.faults else "; ".join(cell.faults)
    seen = ", ".join(filter(None, cell.verified))
    found = ", ".join(cell.found) or "nothing"
    found += f"; {cell.unknown} unknown" if cell.unknown else ""
    return cell.platform, cell.breakage, found, ending(cell), seen, holds


COLUMNS = ("platform", "breakage", "probe found", "recover", "verified", "holds")


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """By breakage, then platform."""
    return sorted(cells, key=lambda one: (one.breakage, PLATFORMS.index(one.platform)))


def page(cells: Sequence[Cell], day: dt.date) -> str:
    """The page of the documentation."""
    held = sum(not one.faults for one in cells)
    parts = [_HEAD.format(date=day.isoformat(), held=held, count=len(cells))]
    for each in all_breakages():
        own = [one for one in in_order(cells) if one.breakage == each.name]
        if own:
            parts.append(_section(each.name, each.summary, own))
    return "\n".join(parts)


def _section(name: str, summary: str, cells: Sequence[Cell]) -> str:
    lines = [f"## {name}", "", f"{_capital(summary)}.", ""]
    lines += ["| platform | probe found | recover | verified |", "| --- | --- | --- | --- |"]
    for one in cells:
        platform, _, found, end, seen, holds = row(one)
        seen = seen if not one.faults else f"**does not hold**: {holds}"
        lines.append(
            "| " + " | ".join(text.replace("|", "\\|") for text in (platform, found, end, seen)) + " |"
        )
    told = next((one.why for one in cells if one.why), "")
    if told:
        lines += ["", f"> {told}"]
    return "\n".join([*lines, ""])


def _capital(text: str) -> str:
    """A command keeps its spelling."""
    return text if text.startswith("nvidia-smi") else text[0].upper() + text[1:]
