"""What grep-source found: equal answers under their hosts, lines aligned, what matched marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rich.text import Text

from fleetops.model.grep import GrepReport, SourceAnswer, SourceLine
from fleetops.render.fold import Folded, fold
from fleetops.render.plain import safe
from fleetops.render.typed import typed

_MATCH = "bold red"  # as grep's own
_GAP = 3
_WIDEST_PLACE = 60
_LEAST_TEXT = 40
_MOST_TO_SHOW = 500
_TAB = "    "

Group = Folded[SourceAnswer]


def grep_json(report: GrepReport) -> dict[str, Any]:
    """The report as `fleetops.grep-source/1`; a line that is only context says so."""
    return {
        "schema": "fleetops.grep-source/1",
        "answers": [_answer_json(group) for group in fold(report.answers)],
        "unreachable": [
            {"host": host.host, "reached": host.reached, "error": host.error, "hint": host.hint}
            for host in report.unreachable
        ],
        "warnings": list(report.warnings),
    }


def _answer_json(group: Group) -> dict[str, Any]:
    answer = group.value
    return {
        "hosts": list(group.hosts),
        "engine": answer.engine,
        "version": answer.version,
        "total": answer.total,
        "files": answer.files,
        "cut_at_bytes": answer.cut_at_bytes,
        "digest": answer.digest,
        "lines": [_line_json(line) for line in answer.lines],
        "unread": list(answer.unread),
    }


def _line_json(line: SourceLine) -> dict[str, Any]:
    body = {"file": line.file, "line": line.line, "text": line.text}
    return body if line.is_match else body | {"context": True}


def grep_screen(report: GrepReport, width: int | None) -> Iterator[Text]:
    """The report for a person, line by line. `width` None (piped): nothing is cropped, one line stays one line."""
    groups, silences = fold(report.answers), _silences(report)
    labels = [*(group.label for group in groups), *(silence.label for silence in silences)]
    label_width = max(map(len, labels), default=0)
    engine_width = max((len(_engine(group.value)) for group in groups), default=0)
    column = _column([line for group in groups for line in group.value.lines], width)
    for place, group in enumerate(groups):
        standing, is_new = _standing(group, groups[:place])
        header = Text(group.label.ljust(label_width), style="bold")
        if engine_width:
            header.append(" " * _GAP + safe(_engine(group.value)).ljust(engine_width), style="not bold")
        header.append(" " * _GAP + _amount(group.value), style="not bold").append_text(standing)
        yield from (Text(), header) if place else (header,)
        if is_new:
            yield from _body(group.value, column, width)
    for place, silence in enumerate(silences):
        yield from _unasked(silence, label_width, is_first=not groups and not place)


def _silences(report: GrepReport) -> tuple[Folded[tuple[str, str, bool]], ...]:
    """Why hosts were not searched, equal reasons together; a message need not repeat the host it stands beside."""
    return fold(
        (host.host, (host.error.removeprefix(f"{host.host}: "), host.hint, host.reached))
        for host in report.unreachable
    )


def _unasked(silence: Folded[tuple[str, str, bool]], label_width: int, *, is_first: bool) -> Iterator[Text]:
    error, hint, reached = silence.value
    if not is_first:
        yield Text()
    row = Text(silence.label.ljust(label_width), style="bold").append(" " * _GAP)
    state = "not searched" if reached else "not asked"
    yield row.append(state, style="not bold magenta").append(f"   {safe(error)}", style="not bold")
    if hint:
        yield Text(f"  {safe(typed(hint))}", style="dim")


def _engine(answer: SourceAnswer) -> str:
    return f"{answer.engine_title or answer.engine} {answer.version}".strip()


def _standing(group: Group, earlier: tuple[Group, ...]) -> tuple[Text, bool]:
    """How an answer compares with those above it, and whether its lines have still to be shown."""
    for other in earlier:
        if _found(other.value) == _found(group.value):
            return Text(f"{' ' * _GAP}same as {other.label}", style="not bold"), False
        if group.value.lines and _seen(other.value) == _seen(group.value):
            words = f"same {group.value.shown:,} as {other.label}, the rest differs"
            return Text(" " * _GAP + words, style="not bold yellow"), False
    differs = earlier and group.value.total
    return Text(" " * _GAP + "differs" if differs else "", style="not bold yellow"), True


def _seen(answer: SourceAnswer) -> tuple[object, ...]:
    return answer.lines, answer.unread


def _found(answer: SourceAnswer) -> tuple[object, ...]:
    return answer.digest, *_seen(answer)


def _amount(answer: SourceAnswer) -> str:
    if not answer.total:
        return "no match"
    some = f"{answer.shown:,} of " if 0 < answer.shown < answer.total else ""
    lines, files = ("line" if answer.total == 1 else "lines"), ("file" if answer.files == 1 else "files")
    return f"{some}{answer.total:,} {lines} in {answer.files:,} {files}"


def _body(answer: SourceAnswer, column: int, width: int | None) -> Iterator[Text]:
    has_context = any(not line.is_match for line in answer.lines)
    for place, block in enumerate(_blocks(answer.lines)):
        if place and has_context:
            yield Text()
        yield from (row for line in _dedent(block) for row in _row(line, column, width))
    if answer.cut_at_bytes or 0 < answer.shown < answer.total:
        yield Text(f"  {'...'.ljust(column)}{_more(answer)}", style="dim")
    for words in answer.unread:
        yield Text(f"  not read: {safe(words)}", style="yellow")


def _more(answer: SourceAnswer) -> str:
    if answer.cut_at_bytes:
        left = f"{answer.total - answer.shown:,} more: " if answer.shown < answer.total else ""
        return f"{left}cut here, after {answer.cut_at_bytes:,} bytes; narrow it with --include or a longer pattern"
    enough = -(-answer.total // 10) * 10
    how = f"--limit {enough}" if enough <= _MOST_TO_SHOW else "narrow it with --include"
    return f"{answer.total - answer.shown:,} more: {how}"


def _blocks(lines: tuple[SourceLine, ...]) -> Iterator[tuple[SourceLine, ...]]:
    """Runs of lines that follow each other in one file."""
    start = 0
    for place, (before, after) in enumerate(pairwise(lines), 1):
        if (after.file, after.line) != (before.file, before.line + 1):
            yield lines[start:place]
            start = place
    if lines:
        yield lines[start:]


@dataclass(frozen=True)
class _Shown:
    """A line less its block's indentation."""

    line: SourceLine
    indent: int


def _dedent(block: tuple[SourceLine, ...]) -> Iterator[_Shown]:
    filled = [line.text for line in block if line.text.strip()]
    shared = min((len(text) - len(text.lstrip(" \t")) for text in filled), default=0)
    return (_Shown(line, shared) for line in block)


def _place(line: SourceLine) -> str:
    return safe(f"{line.file}{':' if line.is_match else '-'}{line.line}")


def _column(lines: list[SourceLine], width: int | None) -> int:
    """Where the text begins: after most places; a narrow terminal keeps room for the text."""
    widest = _WIDEST_PLACE if width is None else min(_WIDEST_PLACE, width - _LEAST_TEXT)
    return max((len(place) for line in lines if len(place := _place(line)) <= widest), default=0) + _GAP


def _row(shown: _Shown, column: int, width: int | None) -> Iterator[Text]:
    place, text = _place(shown.line), _marked(shown)
    if not shown.line.is_match:
        text.style = "dim"
    if width is None or len(place) <= column - 2:
        yield Text(f"  {place.ljust(column - 2)}  ").append_text(_cropped(text, width, column))
    else:
        yield Text(f"  {place}")
        yield Text(" " * (column + 2)).append_text(_cropped(text, width, column))


def _marked(shown: _Shown) -> Text:
    """The text with its matches styled; control characters are made visible piece by piece, so spans stay right."""
    text, at = Text(), shown.indent
    source = shown.line.text
    for start, end in shown.line.spans:
        text.append(_visible(source[at : max(start, at)]))
        text.append(_visible(source[max(start, at) : end]), style=_MATCH)
        at = max(end, at)
    text.append(_visible(source[at:].rstrip()))
    return text


def _visible(text: str) -> str:
    return safe(text.replace("\t", _TAB))


def _cropped(text: Text, width: int | None, column: int) -> Text:
    """What fits beside the places, with the first match in sight; all of it where nobody looks (`width` None)."""
    if width is None:
        return text
    room = max(width - column - 2, _LEAST_TEXT // 2)
    first = text.spans[0] if text.spans else None
    before = first.start - room // 4 if first else 0
    if first and before > 0 and text.cell_len > room and first.end > room - 1:
        text = Text("…", style=text.style) + text[before:]
    text.truncate(room, overflow="ellipsis")
    return text
