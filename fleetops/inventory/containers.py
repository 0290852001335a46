"""Kinds that hold others: lists, and mappings whose keys the user chooses."""

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from fleetops.inventory.document import Entry, Listing, Mapping, Scalar
from fleetops.inventory.kinds import AsItIs, Kind, Schema, Text, mismatch
from fleetops.inventory.problems import Problems, quote

T = TypeVar("T")


@dataclass(frozen=True)
class ListOf(AsItIs, Generic[T]):
    """A list of values of one kind."""

    item: Kind[T]
    what: str
    minimum: int = 0

    @property
    def expected(self) -> str:
        return f"a list of {self.what}"

    def read(self, entry: Entry, problems: Problems) -> tuple[T, ...] | None:
        if not isinstance(entry, Listing):
            single = isinstance(entry, Scalar) and entry.type == "text"
            hint = f'write ["{entry.text}"]' if isinstance(entry, Scalar) and single else ""
            mismatch(entry, self.expected, problems, hint=hint)
            return None
        if len(entry.items) < self.minimum:
            mismatch(entry, self.expected, problems, found="an empty list")
            return None
        values = [self.item.read(item, problems) for item in entry.items]
        return None if any(value is None for value in values) else tuple(v for v in values if v is not None)

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema(), "minItems": self.minimum}


@dataclass(frozen=True)
class MapOf(AsItIs, Generic[T]):
    """A mapping whose keys the user chooses, with values of one kind. Nothing at all is an empty mapping.

    What could not be read is left out of the result, so that the rest can still be judged; whoever goes on to use
    the values asks `problems` first.
    """

    value: Kind[T]
    what: str
    name: Text

    @property
    def expected(self) -> str:
        return f"a mapping of {self.what}"

    def read(self, entry: Entry, problems: Problems) -> dict[str, T] | None:
        if isinstance(entry, Scalar) and entry.type == "null":
            return {}
        if not isinstance(entry, Mapping):
            mismatch(entry, self.expected, problems)
            return None
        found: dict[str, T] = {}
        for key, child in entry.entries.items():
            if not re.fullmatch(self.name.pattern, key):
                problems.add(entry.key_marks[key], f"{entry.path}: {quote(key)} is not {self.name.expected}")
            value = self.value.read(child, problems)
            if value is not None:
                found[key] = value
        return found

    def schema(self) -> Schema:
        return {
            "type": ["object", "null"],
            "propertyNames": {"pattern": f"^(?:{self.name.pattern})$"},
            "additionalProperties": self.value.schema(),
        }
