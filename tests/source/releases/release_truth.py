"""What the releases mean by their flags, read by a person: truth.yaml, and places.yaml with the lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One row of truth.yaml; what it may hold is said there."""

    package: str
    flag: str
    first: Version
    last: Version
    said: dict[str, Any]

    def holds_for(self, version: str) -> bool:
        return self.first <= Version(version) <= self.last

    def allowed(self, name: str) -> list[Any] | None:
        """The values that are right; None where the row says nothing of it."""
        if name not in self.said:
            return None
        value = self.said[name]
        return value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Places:
    """Where the flag is declared and turned into a size, in one release: `file:line`, by class or function."""

    declared: str
    argument: str
    check: str
    arithmetic: dict[str, str]


@cache
def rows() -> tuple[Row, ...]:
    read = yaml.safe_load((HERE / "truth.yaml").read_text())
    return tuple(
        Row(one["package"], one["flag"], Version(str(one["from"])), Version(str(one["to"])), one)
        for one in read
    )


def row(package: str, flag: str, version: str) -> Row | None:
    """The row for this flag of this release. A newer release than any that was read is held against the last row."""
    mine = [one for one in rows() if (one.package, one.flag) == (package, flag)]
    for one in mine:
        if one.holds_for(version):
            return one
    return mine[-1] if mine and Version(version) > mine[-1].last else None


def flags_of(package: str, version: str) -> Iterator[str]:
    """Every flag that the truth has something to say of, for this release."""
    names = dict.fromkeys(one.flag for one in rows() if one.package == package)
    yield from (name for name in names if row(package, name, version))


@cache
def _places() -> dict[str, Any]:
    return dict(yaml.safe_load((HERE / "places.yaml").read_text()))


def places(version: str) -> Places | None:
    """The lines of SGLang's hicache_size in this release; None where it was not read line by line."""
    one = _places().get(version)
    return one and Places(one["declared"], one.get("argument", ""), one["check"], one["arithmetic"])


def places_known() -> list[str]:
    """The releases that were read line by line, oldest first."""
    return list(_places())
