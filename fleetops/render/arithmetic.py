"""A launch's host memory line by line, for `size` and for the plans that rest on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fleetops.model.size import DOES_NOT_FIT, FITS, UNPROVEN
from fleetops.model.sizing import Budget, FlagSize, Verdict

_VERDICTS = {Verdict.FITS: FITS, Verdict.TOO_MUCH: DOES_NOT_FIT, Verdict.UNKNOWN: UNPROVEN}


@dataclass(frozen=True)
class Line:
    """One line of the arithmetic."""

    label: str
    how: str
    size_bytes: int | None
    note: str = ""


def arithmetic(found: Budget) -> Iterator[Line]:
    """The flags, what comes on top, what is left alone, their sum, and every bound."""
    for size in found.sizes:
        how = "nothing fits" if size.value is None and size.fits == 0 else size.arithmetic
        yield Line(size.name, how, size.total_bytes)
        yield from (Line(line.label, "", line.size_bytes) for line in size.beside)
    yield from (Line(line.label, "", line.size_bytes) for line in found.lines)
    yield Line("needed", "", found.needed_bytes)
    several = len(found.rooms) > 1
    for room in found.rooms:
        yield Line(
            room.label, "", room.size_bytes, "the least counts" if several and room is found.room else ""
        )


def lines_json(found: Budget) -> list[dict[str, Any]]:
    """The arithmetic line by line; null where an amount is not known."""
    return [
        {"label": f"{line.label}: {line.how}" if line.how else line.label, "bytes": line.size_bytes}
        for line in arithmetic(found)
    ]


def budget_json(found: Budget) -> dict[str, Any]:
    """What a plan counts with, in the words of `fleetops.size/1`, every flag that takes host memory by its name."""
    return {
        "verdict": _VERDICTS[found.verdict],
        "ranks": found.ranks,
        "available_bytes": found.room.size_bytes if found.room else None,
        "needed_bytes": found.needed_bytes,
        "flags": {size.name: _flag_json(size) for size in found.sizes},
        "lines": lines_json(found),
        "unproven_because": list(found.unknown),
    }


def _flag_json(size: FlagSize) -> dict[str, Any]:
    return {
        "asked": size.asked,
        "value": size.value,
        "unit": size.meaning.unit or "unknown",
        "scope": size.meaning.scope or "unknown",
        "pools": size.meaning.pools,
        "proof": size.meaning.why if size.meaning.proven else None,
        "total_bytes": size.total_bytes,
        "fits": size.fits,
    }
