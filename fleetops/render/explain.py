"""What `explain` says of a flag: the way from its declaration to the allocation, the verdict, and what to do next."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.text import Text

from fleetops.model.explained import ExplainReport, NodeAnswer, NodeSize, Unexplained
from fleetops.model.jsonable import jsonable
from fleetops.model.nodeset import fold_names
from fleetops.model.proof import Explanation
from fleetops.model.units import show_gb
from fleetops.render.explain_rows import AT, PROSE_WIDTH, check, prose, row, walk
from fleetops.render.fold import Folded, fold
from fleetops.render.plain import safe
from fleetops.render.rows import opposite
from fleetops.render.typed import typed

SCHEMA, NODES_SCHEMA = "fleetops.explain/1", "fleetops.explain-nodes/1"

_VERDICTS = {
    "proven": ("proven", "bold green"),
    "unproven": ("unproven", "bold magenta"),
    "no-such-flag": ("no such flag", "bold yellow"),
}
_UNCOUNTED = {"ratio": "a ratio,", "fraction": "a fraction,"}
_LOST_AT = re.compile(r"([\w./+-]+\.py):(\d+)")
_AROUND = 8


@dataclass(frozen=True, kw_only=True)
class Where:
    """Whose source was read.

    Attributes:
        title: the engine as its makers write it.
        place: in words (`on node-174`, `in /opt/venv/...`).
        folder: of the package.
        host: on which that folder lies; "" for this machine.
    """

    title: str
    place: str
    folder: str = ""
    host: str = ""


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """One answer as `fleetops.explain/1`."""
    body = jsonable(explanation)
    first = ("flag", "engine", "version", "verdict", "unit", "scope", "default", "pools", "proof")
    rest = [name for name in body if name not in first]
    return {"schema": SCHEMA} | {name: body[name] for name in (*first, *rest)}


def nodes_json(report: ExplainReport) -> dict[str, Any]:
    """The answers of nodes as `fleetops.explain-nodes/1`, each distinct one once."""
    return {
        "schema": NODES_SCHEMA,
        "answers": [
            explanation_json(group.value)
            | {"hosts": list(group.hosts)}
            | {"sizes": [{"host": one.host} | jsonable(one.size) for one in answers if one.size]}
            for group, answers in _grouped(report)
        ],
        "unreachable": [jsonable(one) for one in report.unreachable],
    }


def _grouped(report: ExplainReport) -> Iterator[tuple[Folded[Explanation], list[NodeAnswer]]]:
    """Equal answers together. Trees that differ where the flag never goes give equal answers, of no tree in particular."""
    by_host = {one.host: one for one in report.answers}
    for group in fold((one.host, replace(one.explanation, tree_sha256="")) for one in report.answers):
        answers = [by_host[host] for host in group.hosts]
        trees = {one.explanation.tree_sha256 for one in answers}
        whole = replace(group.value, tree_sha256=trees.pop() if len(trees) == 1 else "")
        yield Folded(group.hosts, whole), answers


def explain_screen(explanation: Explanation, where: Where, width: int | None) -> Text:
    """One answer for a person. `width` None (piped): no line of source is cut."""
    return Text("\n").join(_answer(explanation, where, width))


def nodes_screen(report: ExplainReport, titles: Mapping[str, str], width: int | None) -> Text:
    """The answers of all nodes, most hosts first; then those that could not be asked."""
    blocks = []
    for group, answers in _grouped(report):
        explanation = group.value
        where = Where(
            title=titles.get(explanation.engine, explanation.engine),
            place=f"on {group.label}",
            folder=answers[0].folder,
            host=answers[0].host,
        )
        blocks.append(Text("\n").join([*_answer(explanation, where, width), *_sizes(answers, width)]))
    blocks += [Text("\n").join(_unasked(one)) for one in _silences(report)]
    return Text("\n\n").join(blocks)


def _answer(explanation: Explanation, where: Where, width: int | None) -> Iterator[Text]:
    yield _headline(explanation, where, width)
    for block in _blocks(explanation, where, width):
        if block:
            yield Text()
            yield from block


def _headline(explanation: Explanation, where: Where, width: int | None) -> Text:
    words, style = _VERDICTS[explanation.verdict]
    line = Text(explanation.flag, style="bold")
    if explanation.is_proven:
        line.append(f"    {_meaning(explanation)}")
    line.append("    ", style="not bold").append(words, style=style)
    whose = " ".join(part for part in (where.title, explanation.version, where.place) if part)
    return opposite(line, whose, width or PROSE_WIDTH)


def _meaning(explanation: Explanation) -> str:
    """`GB per rank`, `GiB in total`, `a ratio, per rank`."""
    scope = "in total" if explanation.scope == "total" else explanation.scope.replace("-", " ")
    return f"{_UNCOUNTED.get(explanation.unit, explanation.unit)} {scope}"


def _blocks(explanation: Explanation, where: Where, width: int | None) -> Iterator[list[Text]]:
    way, pools = walk(explanation, width)
    yield way
    told = row("scope", explanation.scope_why, width)
    told += check(explanation.check, width) + pools
    if explanation.default is not None:
        told += row("default", str(explanation.default), width)
    if explanation.verdict == "no-such-flag":
        told += [line for note in explanation.notes for line in prose(note, 2, width)]
    else:
        notes = enumerate(explanation.notes)
        told += [line for number, note in notes for line in row("" if number else "note", note, width)]
    yield told
    if explanation.verdict == "unproven":
        yield list(_lost(explanation, where, width))


def _lost(explanation: Explanation, where: Where, width: int | None) -> Iterator[Text]:
    """Where the trail was lost, and how to look at that place."""
    why = explanation.unproven_because or "nothing tells where the trail was lost"
    yield from row("unproven", why, width, label_style="bold magenta", style="bold")
    yield from prose(
        'Look at that place. `launch` refuses the flag unless that is waived: --waive proof="reason".',
        AT,
        width,
    )
    if command := _look(why, where):
        yield Text()
        yield Text(f"  {safe(typed(command))}")


def _look(why: str, where: Where) -> str:
    """The command that shows the place; "" where none is named."""
    found = _LOST_AT.search(why)
    if not found or not where.folder:
        return ""
    line = int(found[2])
    words = ["sed", "-n", f"{max(line - _AROUND, 1)},{line + _AROUND}p", f"{where.folder}/{found[1]}"]
    return shlex.join(["fleetops", "run", where.host, "--", *words] if where.host else words)


def _sizes(answers: list[NodeAnswer], width: int | None) -> Iterator[Text]:
    """What the number comes to on each node, equal ones together, and the command that shows the arithmetic."""
    several = len(answers) > 1
    sized = [(one.host, _size(one.size, several=several)) for one in answers if one.size]
    profiles = {one.size.profile for one in answers if one.size}
    if not sized:
        return
    yield Text()
    for group in fold(sized):
        yield from prose(f"{group.label}: {group.value}" if several else group.value, 2, width)
    # Without a profile it is each node's own.
    which = ["--profile", *profiles] if len(profiles) == 1 else []
    command = shlex.join(["fleetops", "size", *which, fold_names(host for host, _ in sized)])
    yield Text(f"  {safe(typed(command))}")


def _size(size: NodeSize, *, several: bool) -> str:
    here = "" if several else " on this node"
    there = f"{size.ranks} ranks, {show_gb(size.available_bytes)} available"
    fits = "" if size.fits is None else f"{size.fits} fits" if size.fits else "Nothing fits now"
    if size.asked is None or size.asked_bytes is None:
        return f"{fits}{here} ({there})." if fits else f"{there}{here}."
    means = f"{size.asked:g} means {show_gb(size.asked_bytes)}{here} ({there})"
    if size.fits is not None and size.asked <= size.fits:
        return f"{means}, and fits."
    return f"{means}. {fits}." if fits else f"{means}."


def _silences(report: ExplainReport) -> tuple[Folded[tuple[str, str, bool]], ...]:
    return fold((one.host, _reason(one)) for one in report.unreachable)


def _reason(one: Unexplained) -> tuple[str, str, bool]:
    return one.error.removeprefix(f"{one.host}: "), one.hint, one.reached


def _unasked(silence: Folded[tuple[str, str, bool]]) -> Iterator[Text]:
    error, hint, reached = silence.value
    line = Text(silence.label, style="bold").append("   ")
    line.append("not read" if reached else "not asked", style="not bold magenta")
    yield line.append(f"   {safe(error)}", style="not bold")
    if hint:
        yield Text(f"  {safe(typed(hint))}", style="dim")
