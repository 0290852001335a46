"""A proof line by line: the way from the declaration to the allocation, and what follows from it."""

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from fleetops.model.proof import EngineCheck, Explanation
from fleetops.render.explain_steps import Step, ends, way
from fleetops.render.plain import safe

AT = 13
"""Where what stands beside a label begins."""

PROSE_WIDTH = 100
"""Sentences are no wider, however wide the terminal."""

_INDENT, _GAP = 2, 3
_MOST_TEXT = 44
_JUDGED = {True: ("sound", ""), False: ("not sound", "yellow"), None: ("cannot be judged", "magenta")}


def walk(explanation: Explanation, width: int | None) -> tuple[list[Text], list[Text]]:
    """The way of the value, and the pools that it ends in, in the same columns.

    The pools only where there is more than one, or where something has to be so for the only one. `width` None
    (piped): nothing is cut, and one place stays one line.
    """
    steps, pools = way(explanation), ends(explanation.pools)
    column = _column([*steps, *pools], width)
    rows = [list(_lay_out(some, column, width)) for some in (steps, pools)]
    if (explanation.simultaneous or 1) > 1:
        worst = f"at worst {explanation.simultaneous} at once, each the whole value"
        rows[1] += row("" if pools else "pools", worst, width, style="bold")
    elif explanation.simultaneous and len(pools) > 1:
        rows[1] += row("", "at worst the whole value once", width)
    return rows[0], rows[1]


def _column(steps: Sequence[Step], width: int | None) -> int:
    """Where the source begins: behind the longest place, or where the whole takes fewer lines on a narrow terminal."""
    columns = sorted({AT + cell_len(step.place) + _GAP for step in steps}, reverse=True)
    if width is None:
        return columns[0] if columns else AT
    return min(columns, key=lambda column: len(list(_lay_out(steps, column, width))), default=AT)


def _lay_out(steps: Sequence[Step], column: int, width: int | None) -> Iterator[Text]:
    """The rows, their source at `column`; the notes in a column of their own, further right behind a long text."""
    texts = [cell_len(step.text) for step in steps if step.note]
    note_at = column + min(max(texts, default=0), _MOST_TEXT) + _GAP
    if width is not None:
        note_at = min(note_at, width - max((cell_len(step.note) for step in steps), default=0))
    for step in steps:
        line = labelled(step.word).append(step.place)
        if _fits_beside(step, line, column, width):
            yield from _with_source(_pad(line, column), step, note_at, width)
        else:
            yield line
            yield from _with_source(Text(" " * (AT + 2)), step, 0, width)


def _fits_beside(step: Step, line: Text, column: int, width: int | None) -> bool:
    """Whether the source has room beside its place, and its note below it; where there is no note, it may be cut."""
    if line.cell_len + _GAP > column:
        return False
    if width is None:
        return True
    return width - column >= max(step.least, cell_len(step.note) + 2)


def _with_source(line: Text, step: Step, note_at: int, width: int | None) -> Iterator[Text]:
    at = line.cell_len
    room = None if width is None else width - at
    whole = step.text + step.aside
    line.append_text(_cut(step.text if room is not None and cell_len(whole) > room else whole, room))
    left = None if width is None else width - cell_len(step.note)
    if step.note and (left is None or line.cell_len + _GAP <= left):
        yield _pad(line, max(line.cell_len + _GAP, note_at)).append(step.note, style="dim")
    else:
        yield line
        yield from prose(step.note, at + 2, width, style="dim")


def _pad(line: Text, to: int) -> Text:
    return line.append(" " * max(to - line.cell_len, 1))


def _cut(text: str, room: int | None) -> Text:
    shown = Text(text)
    if room is not None:
        shown.truncate(max(room, 1), overflow="ellipsis")
    return shown


def labelled(label: str, style: str = "") -> Text:
    """The beginning of a row: its label, and the way to what stands beside it."""
    return _pad(Text(" " * _INDENT).append(label, style=style), AT)


def prose(text: str, at: int, width: int | None, *, style: str = "") -> list[Text]:
    """Sentences, wrapped, from column `at` on."""
    room = max(min(width or PROSE_WIDTH, PROSE_WIDTH) - at, 24)
    lines = textwrap.wrap(safe(text), room, break_long_words=False, break_on_hyphens=False)
    return [Text(" " * at).append(line, style=style) for line in lines]


def row(label: str, text: str, width: int | None, *, label_style: str = "", style: str = "") -> list[Text]:
    """A label and sentences beside it."""
    lines = prose(text, AT, width, style=style)
    return [labelled(label, label_style).append_text(lines[0][AT:]), *lines[1:]] if lines else []


def check(found: EngineCheck | None, width: int | None) -> list[Text]:
    """The engine's own check: whether passing it says that the node can hold what all ranks take."""
    if found is None:
        return []
    word, style = _JUDGED[found.sound]
    lines = row("its check", f"{word}: {found.why} ({found.file}:{found.line})", width)
    lines[0].stylize(style, AT, AT + len(word))
    return lines
