"""A mapping with known keys: each a `Field` of a kind, read into a `Reading` that is asked field by field.

Example:
    ADDRESS = Field("address", Text(), "where SSH reaches it", required=True)
    PORT = Field("port", Whole(1, 65535), "the SSH port", default=22)
    HOST = Record("a host", (ADDRESS, PORT))

    reading = HOST.read(entry, problems)
    reading.get(PORT)         # int | None: what stands there, or the default
    reading.mark(PORT)        # where it stands
"""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from fleetops.inventory.document import Entry, Mapping, Refused, Scalar
from fleetops.inventory.kinds import AsItIs, Kind, Schema, mismatch
from fleetops.inventory.problems import Mark, Problems, did_you_mean, quote

T = TypeVar("T")


@dataclass(frozen=True)
class Field(Generic[T]):
    """A key that a record knows.

    Attributes:
        help: one line for the reference and for editors.
        default: the value where the key is left out; None where there is none.
        otherwise: what happens then, in words, where the default alone does not say it.
    """

    key: str
    kind: Kind[T]
    help: str
    required: bool = False
    default: T | None = None
    otherwise: str = ""


@dataclass(frozen=True)
class Reading:
    """What a record's entry holds: values by key, as far as they could be read."""

    entry: Entry
    values: dict[str, Any] = field(default_factory=dict)

    def get(self, wanted: Field[T]) -> T | None:
        """The value, else the field's default; None for neither, and for a value with a problem."""
        if wanted.key in self.values:
            return cast("T | None", self.values[wanted.key])
        return wanted.default

    def table(self, wanted: Field[dict[str, T]]) -> dict[str, T]:
        """The value of a field that is a mapping with free keys; empty where it is left out."""
        return self.get(wanted) or {}

    def need(self, wanted: Field[T]) -> T:
        """The value of a field that is required or has a default; only once no problem was found."""
        value = self.get(wanted)
        if value is None:
            raise KeyError(wanted.key)
        return value

    def mark(self, wanted: Field[Any]) -> Mark:
        """Where the field's value stands, else where the whole entry was introduced."""
        if isinstance(self.entry, Mapping) and wanted.key in self.entry.entries:
            return self.entry.entries[wanted.key].mark
        return self.entry.key_mark

    def path(self, wanted: Field[Any]) -> str:
        """How the field is reached, for messages."""
        return f"{self.entry.path}.{wanted.key}".removeprefix(".")

    def has(self, wanted: Field[Any]) -> bool:
        """Whether the key is there, readable or not."""
        return wanted.key in self.values


@dataclass(frozen=True)
class Record(AsItIs):
    """The kind of a mapping with known keys; also the definition that schema and reference are made from."""

    what: str
    fields: tuple[Field[Any], ...]
    help: str = ""

    @property
    def expected(self) -> str:
        required = [item.key for item in self.fields if item.required]
        return (
            f"{self.what} (a mapping with {', '.join(required)})" if required else f"{self.what} (a mapping)"
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys it knows, in the order of the reference."""
        return tuple(item.key for item in self.fields)

    def read(self, entry: Entry, problems: Problems) -> Reading | None:
        """All readable values; unknown, missing and wrong ones are problems. None only where it is no mapping."""
        if isinstance(entry, Scalar) and entry.type == "null":
            entry = Mapping(mark=entry.mark, path=entry.path, key_mark=entry.key_mark)
        if not isinstance(entry, Mapping):
            # A file that is none of ours may be any file, whose content is not for showing.
            found = "plain text" if isinstance(entry, Scalar) and not entry.path else ""
            mismatch(entry, self.expected, problems, found=found)
            return None
        known = {item.key: item for item in self.fields}
        values: dict[str, Any] = {}
        for key, child in entry.entries.items():
            if key in known:
                values[key] = known[key].kind.read(child, problems)
            elif not isinstance(child, Refused):
                self._add_unknown(entry, key, problems)
        for item in self.fields:
            if item.required and item.key not in entry.entries:
                where = f"{entry.path}: " if entry.path else ""
                problems.add(entry.key_mark, f"{where}`{item.key}` is missing: {item.kind.expected}")
        return Reading(entry, values)

    def _add_unknown(self, entry: Mapping, key: str, problems: Problems) -> None:
        where = f"{entry.path}: " if entry.path else ""
        alike = key.replace("_", "-").lower()
        hint = f"did you mean `{alike}`?" if alike in self.keys else did_you_mean(key, self.keys)
        expected = "expected " + ", ".join(self.keys)
        problems.add(entry.key_marks[key], f"{where}unknown key {quote(key)}; {expected}", hint=hint)

    def schema(self) -> Schema:
        """An object that allows these keys and no others."""
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {item.key: _property(item) for item in self.fields},
        }
        required = [item.key for item in self.fields if item.required]
        if required:
            schema["required"] = required
        else:
            schema["type"] = ["object", "null"]
        return schema


def _property(item: Field[Any]) -> Schema:
    schema = item.kind.schema() | {"description": item.help}
    if item.default is not None:
        schema["default"] = item.kind.written(item.default)
    return schema
