"""What one value in a file may be. A kind reads an entry into a value, says what it expects, and gives its JSON Schema.

A kind's `read` returns None exactly when it has added a problem (or the entry was reported before). The same object
serves the loader, the schema and the reference page, so these cannot tell different stories.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from fleetops.inventory import quantity
from fleetops.inventory.document import Entry, Listing, Mapping, Refused, Scalar
from fleetops.inventory.problems import Problems, did_you_mean, quote
from fleetops.model.secrets import looks_secret

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Schema = dict[str, Any]

_ARTICLES = {"integer": "a number", "number": "a number", "boolean": "true or false"}


class Kind(Protocol[T_co]):
    """One kind of value."""

    @property
    def expected(self) -> str:
        """What belongs here, as it is said in problems and in the reference (`a whole number from 1 to 65535`)."""

    def read(self, entry: Entry, problems: Problems) -> T_co | None:
        """The value, or None after adding what is wrong to `problems`."""

    def written(self, value: Any) -> Any:
        """A value as it would stand in the file (bytes as `40 GB`); for defaults in the schema and the reference."""

    def schema(self) -> Schema:
        """JSON Schema (2020-12) of the same values."""


class AsItIs:
    """For kinds whose values stand in the file as they are in the program."""

    def written(self, value: Any) -> Any:
        return value


def describe(entry: Entry) -> str:
    """What stands there, in a message. Free text is named, not shown, by callers that may meet secrets."""
    if isinstance(entry, Mapping):
        return "a mapping"
    if isinstance(entry, Listing):
        return "a list"
    if isinstance(entry, Scalar):
        return "nothing" if entry.type == "null" else quote(entry.text)
    return "a refused value"


def mismatch(entry: Entry, expected: str, problems: Problems, *, hint: str = "", found: str = "") -> None:
    """Add the usual problem: what was found where, and what was expected; silent where it was reported before."""
    if not isinstance(entry, Refused):
        what = entry.path or "the file"
        if isinstance(entry, Scalar) and looks_secret(entry.path.rpartition(".")[2]):
            found = "a value of another form"
        problems.add(entry.mark, f"{what}: expected {expected}, found {found or describe(entry)}", hint=hint)


@dataclass(frozen=True)
class Text(AsItIs):
    """One line of text of a given form.

    Attributes:
        expected: what the form is, in words.
        pattern: a regular expression for the whole of it, in the syntax that Python and JSON Schema share.
        loose: numbers and booleans are taken as the text that stands in the file (labels, environment).
        secret: never shown in a problem.
        judge: says what is wrong with a text of the right form, "" if nothing; for what a pattern cannot say.
    """

    expected: str = "text"
    pattern: str = r"[^\x00-\x1f\x7f]+"
    loose: bool = False
    secret: bool = False
    judge: Callable[[str], str] | None = None

    def read(self, entry: Entry, problems: Problems) -> str | None:
        if not isinstance(entry, Scalar) or entry.type == "null":
            mismatch(entry, self.expected, problems)
            return None
        if entry.type != "text" and not self.loose:
            mismatch(
                entry, self.expected, problems, hint=f"YAML takes it for {_ARTICLES[entry.type]}: quote it"
            )
            return None
        if not re.fullmatch(self.pattern, entry.text):
            found = "a value of another form" if self.secret else ""
            mismatch(entry, self.expected, problems, found=found)
            return None
        if self.judge and (wrong := self.judge(entry.text)):
            problems.add(entry.mark, f"{entry.path}: {wrong}")
            return None
        return entry.text

    def schema(self) -> Schema:
        types = ["string", "number", "boolean"] if self.loose else "string"
        return {"type": types, "pattern": f"^(?:{self.pattern})$"}


@dataclass(frozen=True)
class Choice(AsItIs):
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return "one of " + ", ".join(self.words)

    def read(self, entry: Entry, problems: Problems) -> str | None:
        if isinstance(entry, Scalar) and entry.text in self.words:
            return entry.text
        word = entry.text if isinstance(entry, Scalar) else ""
        mismatch(entry, self.expected, problems, hint=did_you_mean(word, self.words))
        return None

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Flip(AsItIs):
    """true or false."""

    expected: str = "true or false"

    def read(self, entry: Entry, problems: Problems) -> bool | None:
        if isinstance(entry, Scalar) and entry.type == "boolean":
            return entry.text.lower() == "true"
        words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
        word = words.get(entry.text.lower(), "") if isinstance(entry, Scalar) else ""
        mismatch(entry, self.expected, problems, hint=f"write {word}" if word else "")
        return None

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Whole(AsItIs):
    """A whole number within limits."""

    minimum: int
    maximum: int | None = None

    @property
    def expected(self) -> str:
        upper = (
            f"from {self.minimum} to {self.maximum}"
            if self.maximum is not None
            else f"from {self.minimum} up"
        )
        return f"a whole number {upper}"

    def read(self, entry: Entry, problems: Problems) -> int | None:
        hint = ""
        if isinstance(entry, Scalar):
            if entry.type == "integer" and re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,17})", entry.text):
                number = int(entry.text)
                if number >= self.minimum and (self.maximum is None or number <= self.maximum):
                    return number
            elif entry.quoted and entry.text.isdecimal():
                hint = "without quotes"
        mismatch(entry, self.expected, problems, hint=hint)
        return None

    def schema(self) -> Schema:
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return {"type": "integer", **{key: value for key, value in bounds.items() if value is not None}}


@dataclass(frozen=True)
class Number(AsItIs):
    """A number from 0 up, whole or not, in a unit that its key tells."""

    expected: str = "a number from 0 up"

    def read(self, entry: Entry, problems: Problems) -> float | None:
        is_number = isinstance(entry, Scalar) and entry.type in {"integer", "number"}
        if (
            is_number
            and isinstance(entry, Scalar)
            and re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", entry.text)
        ):
            return float(entry.text)
        quoted = isinstance(entry, Scalar) and entry.quoted and entry.text.replace(".", "", 1).isdecimal()
        mismatch(entry, self.expected, problems, hint="without quotes" if quoted else "")
        return None

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0}


@dataclass(frozen=True)
class _Quantity(Generic[T]):
    """A scalar that a parser of `quantity` reads; subclasses name it."""

    minimum: float = 0

    def _read(self, entry: Entry, problems: Problems, parse: Callable[[str], T], expected: str) -> T | None:
        if not isinstance(entry, Scalar) or entry.type == "null":
            mismatch(entry, expected, problems)
            return None
        try:
            value = parse(entry.text)
        except ValueError:
            hint = "" if entry.type == "text" else "the unit is missing"
            mismatch(entry, expected, problems, hint=hint)
            return None
        if value < self.minimum:  # type: ignore[operator]
            mismatch(entry, expected, problems, hint="more than nothing")
            return None
        return value


@dataclass(frozen=True)
class Size(_Quantity[int]):
    """A number of bytes with its unit: `40 GB`, `16GiB`."""

    expected: str = "a size like `40 GB` or `16GiB`"

    def read(self, entry: Entry, problems: Problems) -> int | None:
        return self._read(entry, problems, quantity.parse_size, self.expected)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^(?:{quantity.SIZE_PATTERN})$"}

    def written(self, value: Any) -> str:
        return quantity.show_size(value)


@dataclass(frozen=True)
class Duration(_Quantity[float]):
    """A time with its unit, in seconds: `30s`, `15m`, `1h30m`."""

    expected: str = "a duration like `30s`, `15m` or `1h30m`"

    def read(self, entry: Entry, problems: Problems) -> float | None:
        return self._read(entry, problems, quantity.parse_duration, self.expected)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^(?:{quantity.DURATION_PATTERN})$"}

    def written(self, value: Any) -> str:
        return quantity.show_duration(value)
