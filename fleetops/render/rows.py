"""Rows of a label, a statement and a note: the notes stand in one column where the width allows, else below."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from fleetops.render.plain import safe

_INDENT = 2
_GAP = 3
_LEAST_NOTE_WIDTH = 36
# Rows of several nodes stand under each other: the columns start no further left than this.
_LEAST_LABEL, NOTE_AT = 9, 50


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line for a person. An empty `label` continues the row above; `style` colours the label alone."""

    label: str = ""
    says: str
    note: str = ""
    style: str = ""


def lay_out(rows: Sequence[Row], width: int) -> list[Text]:
    """The rows as lines of at most `width` columns, as far as their statements allow."""
    if not rows:
        return []
    says_at = _INDENT + max(_LEAST_LABEL, *(cell_len(row.label) for row in rows)) + _GAP
    note_at = max(NOTE_AT, says_at + max(cell_len(safe(row.says)) for row in rows) + _GAP)
    beside = width - note_at >= _LEAST_NOTE_WIDTH  # a narrow terminal gets its notes below
    return [line for row in rows for line in _row(row, width, says_at, note_at if beside else None)]


def _row(row: Row, width: int, says_at: int, note_at: int | None) -> list[Text]:
    first = Text(" " * _INDENT)
    first.append(row.label, style=row.style)
    first.append(" " * (says_at - first.cell_len))
    first.append(safe(row.says))
    if not row.note:
        return [first]
    at = says_at + _INDENT if note_at is None else note_at
    notes = textwrap.wrap(safe(row.note), max(width - at, 20), break_long_words=False, break_on_hyphens=False)
    if note_at is not None:
        first.append(" " * (note_at - first.cell_len))
        first.append(notes.pop(0))
    return [first, *(Text(" " * at).append(note) for note in notes)]


def opposite(left: Text, right: str, width: int) -> Text:
    """A headline: `left`, and `right` above the notes or further, on one line where the width allows."""
    start = max(NOTE_AT, left.cell_len + _GAP)
    line = left.copy()
    if start + cell_len(right) <= width:
        line.append(" " * (start - left.cell_len))
    else:
        line.append("\n" + " " * _INDENT)
    line.append(safe(right))
    return line
