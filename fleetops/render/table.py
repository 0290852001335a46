"""Aligned columns without boxes: numbers to the right, everything else to the left."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from fleetops.render.plain import safe

_GAP = 3


def columns(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    styles: Mapping[str, str] | None = None,
    indent: int = 0,
) -> Text:
    """Rows of equal length as one text; the first row is the heading. `styles` colours cells by what they say."""
    cells = [[safe(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(cells[0]))]
    return Text("\n").join(_line(row, widths, set(right), styles or {}, indent) for row in cells)


def folded(rows: Sequence[Sequence[str]]) -> Table:
    """The same for a terminal: what is too long goes on in its own, the last column."""
    table = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in rows[0][:-1]:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    return table


def _line(
    row: Sequence[str], widths: Sequence[int], right: set[int], styles: Mapping[str, str], indent: int
) -> Text:
    line = Text(" " * indent)
    for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
        pad = " " * (width - cell_len(cell))
        line.append(pad if at in right else "")
        line.append(cell, style=styles.get(cell, ""))
        line.append((pad if at not in right else "") + " " * _GAP)
    line.rstrip()
    return line
