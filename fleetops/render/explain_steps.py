"""A proof's places and pools in an operator's words: what happens, where, the line of source, what becomes of the value."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fleetops.model.proof import ALWAYS, Explanation, Place, Pool, Role
from fleetops.render.plain import safe

_LEAST_TEXT = 34
_WORDS: dict[Role, str] = {
    "declaration": "declared",
    "read": "read",
    "argument": "passed as",
    "arithmetic": "becomes",
    "allocation": "allocates",
    "scope": "runs in",
    "check": "checked",
}
_UNITS = {"x 1e9": "GB", "x 2^30": "GiB", "x 1e6": "MB", "x 2^20": "MiB"}
_OPERATIONS = re.compile(r", (?=[x/] |split )")
_OPERATION = re.compile(r"[x/] (?P<operand>.+)", re.DOTALL)
# A help text, which counts for nothing: the tracer has cut it short already.
_HELP = re.compile(r'"[^"]*\.\.\."')
# What the tracer says of a pool that has company: `FUNCTION: beside POOL and POOL`, one for each function that builds it.
_COMPANY = re.compile(r"[^:;]+: (?:beside|shared with) [^;]+(?:; [^:;]+: (?:beside|shared with) [^;]+)*")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One row.

    Attributes:
        word: what happens; "" goes on with the row above.
        place: file and line.
        text: the line of source, or a pool's name.
        aside: goes on with the text where there is room for all of it.
        note: what that makes of the value; "" where the text says it all.
        least: columns of the text that have to be seen; the rest may be cut.
    """

    word: str
    place: str
    text: str
    aside: str = ""
    note: str = ""
    least: int = 0


def way(explanation: Explanation) -> list[Step]:
    """From the declaration to the allocation. Where it runs is left out if the sentence about the scope names that line."""
    shown = [place for place in explanation.proof if not _said_by_scope(place, explanation)]
    return _merged([_step(place, explanation.unit) for place in shown])


def ends(pools: Iterable[Pool]) -> list[Step]:
    """The pools that take the value, each once; none where there is but one, that always takes the whole."""
    found = tuple(pools)
    if len(found) < 2 and all(pool.share == "whole" and pool.when == ALWAYS for pool in found):
        return []
    together: dict[tuple[str, str], list[Pool]] = {}
    for pool in found:
        together.setdefault((pool.file, pool.name), []).append(pool)
    widest = max(len(name) for _, name in together)
    steps = []
    for (file, name), same in together.items():
        lines = ",".join(map(str, sorted({pool.line for pool in same})))
        text = safe(name.ljust(widest))
        place = safe(f"{file}:{lines}")
        steps.append(Step(word="", place=place, text=text, note=safe(_taken(same)), least=len(text)))
    return [replace(steps[0], word="pools"), *steps[1:]]


def _said_by_scope(place: Place, explanation: Explanation) -> bool:
    return place.role == "scope" and f"{place.file}:{place.line})" in explanation.scope_why


def _merged(steps: Sequence[Step]) -> list[Step]:
    """What happens in one line of source is one row: as the last of it, with all that it makes of the value."""
    merged: list[Step] = []
    for step in steps:
        notes = [step.note]
        if merged and merged[-1].place == step.place:
            notes = [merged.pop().note, step.note]
        merged.append(replace(step, note=", ".join(note for note in dict.fromkeys(notes) if note)))
    return merged


def _step(place: Place, unit: str) -> Step:
    text, note, word = safe(" ".join(place.text.split())), safe(place.note), _WORDS[place.role]
    if place.role == "declaration":
        text = _HELP.sub('"..."', text)
    step = Step(
        word=word, place=safe(f"{place.file}:{place.line}"), text=text, least=min(len(text), _LEAST_TEXT)
    )
    if place.role in {"argument", "scope"} and note:
        gap = " " if place.role == "argument" else "   "
        return replace(step, aside=f"{gap}{note.removesuffix('.__init__')}")
    if place.role == "arithmetic":
        note = _calculation(note, text, unit)
    return replace(step, note=note, least=len(text)) if note not in {"", word} else step


def _calculation(note: str, text: str, unit: str) -> str:
    """What stands there anyway is not said again, but for the constant that makes the unit: `x 1e9: GB`."""
    told = []
    for operation in _OPERATIONS.split(note):
        found = _OPERATION.fullmatch(operation)
        if _UNITS.get(operation) == unit:
            told.append(f"{operation}: {unit}")
        elif found is None or found["operand"][0].isdigit() or found["operand"] not in text:
            told.append(operation)
    return ", ".join(told)


def _taken(pools: Sequence[Pool]) -> str:
    """How much of the value one pool takes, and when: `whole, or a part beside others`."""
    told = (f"{pool.share if pool.share == 'whole' else 'a part'}{_when(pool)}" for pool in pools)
    return ", or ".join(dict.fromkeys(told))


def _when(pool: Pool) -> str:
    if pool.when == ALWAYS:
        return ""
    return " beside others" if _COMPANY.fullmatch(pool.when) else f", {pool.when}"
