"""A profile's launch flags: a plain value, or `{value, unit, scope}` where the number's meaning is stated.

`auto` asks fleetops for the largest size that fits, in whatever unit and scope the engine's source proves. As a plain
value it is the engine's own word (`kv-cache-dtype: auto`), except for flags that are sizes by their name.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from fleetops.inventory import document
from fleetops.inventory.document import Entry, Scalar
from fleetops.inventory.kinds import AsItIs, Choice, Schema, mismatch
from fleetops.inventory.problems import Problems
from fleetops.inventory.quantity import parse_size
from fleetops.inventory.record import Field, Record
from fleetops.model.fleet import AUTO, FlagScope, FlagUnit, FlagValue

BYTE_UNITS = ("GB", "GiB", "MB", "MiB", "bytes")

_SIZE_NAME = re.compile(r".*[-_](size|gb|space|bytes)")
_SIZED = "{value: 48, unit: GB, scope: per-rank}"
_YES_NO = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


@dataclass(frozen=True)
class PlainValue(AsItIs):
    """true or false, a number or text, typed as YAML 1.2 does."""

    expected: str = "true, false, a number or text"

    def read(self, entry: Entry, problems: Problems) -> FlagValue | None:
        if not isinstance(entry, Scalar) or entry.type == "null":
            hint = "write true for a flag without a value" if isinstance(entry, Scalar) else ""
            mismatch(entry, self.expected, problems, hint=hint)
            return None
        if not entry.quoted and entry.text.lower() in _YES_NO:
            word = _YES_NO[entry.text.lower()]
            mismatch(entry, self.expected, problems, hint=f"write {word}, or quote it to mean the word")
            return None
        return self._typed(entry, problems)

    def _typed(self, entry: Scalar, problems: Problems) -> FlagValue | None:
        if entry.type == "boolean":
            return entry.text.lower() == "true"
        if entry.type == "integer" and re.fullmatch(r"[-+]?(0|[1-9][0-9]{0,99})", entry.text):
            return int(entry.text)
        if entry.type == "number" and math.isfinite(
            number := float(entry.text.replace(".inf", "inf").replace(".nan", "nan"))
        ):
            return number
        if entry.type == "text" and "\0" not in entry.text:
            return entry.text
        mismatch(entry, self.expected, problems, hint="quote it to pass it on as it stands")
        return None

    def schema(self) -> Schema:
        return {"type": ["boolean", "number", "string"]}


VALUE: Field[FlagValue] = Field(
    "value", PlainValue(), "the value, or `auto` for the largest that fits", required=True
)
UNIT: Field[str] = Field(
    "unit", Choice(get_args(FlagUnit)), "what the number counts; GB is 10^9 bytes, GiB 2^30"
)
SCOPE: Field[str] = Field("scope", Choice(get_args(FlagScope)), "whether each rank takes it, or all together")
FLAG = Record("a flag with its meaning", (VALUE, UNIT, SCOPE), "a flag whose meaning is stated")


@dataclass(frozen=True)
class FlagReading:
    """A flag as it stands in a profile."""

    entry: Entry
    value: FlagValue
    unit: FlagUnit | None = None
    scope: FlagScope | None = None


@dataclass(frozen=True)
class FlagKind(AsItIs):
    """One flag, in either form."""

    expected: str = "a plain value, or {value, unit, scope}"

    def read(self, entry: Entry, problems: Problems) -> FlagReading | None:
        if isinstance(entry, Scalar):
            value = PlainValue().read(entry, problems)
            return None if value is None else FlagReading(entry, value)
        if not isinstance(entry, document.Mapping):
            mismatch(entry, self.expected, problems)
            return None
        reading = FLAG.read(entry, problems)
        value = reading.get(VALUE) if reading else None
        if reading is None or value is None:
            return None
        unit, scope = cast("FlagUnit | None", reading.get(UNIT)), cast("FlagScope | None", reading.get(SCOPE))
        flag = FlagReading(entry, value, unit, scope)
        if problem := _stated_wrongly(flag):
            problems.add(reading.mark(VALUE), f"{entry.path}: {problem}")
        return flag

    def schema(self) -> Schema:
        return {"anyOf": [PlainValue().schema(), FLAG.schema()]}


def _stated_wrongly(flag: FlagReading) -> str:
    """What is wrong between a flag's value, unit and scope, "" if nothing."""
    if flag.value == AUTO:
        return f"`auto` is for sizes: its unit is one of {', '.join(BYTE_UNITS)}" if _is_no_size(flag) else ""
    if flag.unit and (isinstance(flag.value, bool | str) or flag.value < 0):
        return f"a value in {flag.unit} is a number from 0 up" + (
            ", or auto" if flag.unit in BYTE_UNITS else ""
        )
    return ""


def _is_no_size(flag: FlagReading) -> bool:
    return flag.unit is not None and flag.unit not in BYTE_UNITS


def _is_left_to_sizing(key: str, flag: FlagReading) -> bool:
    """`auto` where it is fleetops' word: in the long form, and for flags that are sizes by their name."""
    return flag.value == AUTO and (not isinstance(flag.entry, Scalar) or bool(_SIZE_NAME.fullmatch(key)))


def flag_name(key: str) -> str:
    """A flag's name with underscores, as the program keeps it."""
    return key.replace("-", "_")


def flag_problems(flags: Mapping[str, FlagReading]) -> Iterator[tuple[FlagReading, str, str]]:
    """What is wrong among a profile's flags: (flag, problem, hint)."""
    seen: dict[str, str] = {}
    sized = ""
    for key, flag in flags.items():
        if (first := seen.setdefault(flag_name(key), key)) != key:
            yield flag, f"`{key}` and `{first}` are the same flag", ""
        if _is_left_to_sizing(key, flag):
            if sized:
                yield flag, f"only one flag can be auto, and `{sized}` is", ""
            sized = sized or key
        if flag.unit is None and _SIZE_NAME.fullmatch(key) and (problem := _bare_size(flag.value)):
            yield flag, problem, f"write {_SIZED}, with what is meant here"


def _bare_size(value: FlagValue) -> str:
    """What is wrong with a size flag's plain value, "" if nothing."""
    try:
        parse_size(str(value))
    except ValueError:
        return ""
    return "the unit does not belong in the value"
