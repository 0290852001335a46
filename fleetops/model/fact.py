"""A fact is one thing read from a host: a command, a pure parser, and a value or the reason why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from fleetops.model.command import Command, Outcome

T = TypeVar("T")


class Gap(Enum):
    """Why a fact has no value. None of these is ever read as healthy."""

    UNPARSABLE = "unparsable"
    TIMED_OUT = "timed out"
    ABSENT = "absent"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Missing:
    """A fact without a value: which gap, what was seen instead, and what to do about it where that is known.

    Attributes:
        reason: a word by which checks and guards know a gap that tells something certain by itself (a driver that
            does not answer, a host without an SSH banner); "" for any other.
    """

    gap: Gap
    why: str
    hint: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.gap.value}: {self.why}" if self.why else self.gap.value


@dataclass(frozen=True)
class Key(Generic[T]):
    """The typed name under which a fact's reading is kept."""

    name: str


class Unparsable(ValueError):  # noqa: N818 - it names the gap
    """A parser's word that the output is not of the form it knows. `reason` as in `Missing`."""

    def __init__(self, message: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class Unanswered(TimeoutError):  # noqa: N818 - it names the gap
    """A parser's word that no answer came in time, though the output tells why. `reason` as in `Missing`."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class Absent(LookupError):  # noqa: N818 - it names the gap
    """A parser's word that the thing does not exist on this host (no GPU driver, no such guest)."""


# What a parser that trusts its input too far runs into; nested without end, an answer takes the stack with it.
_BUGS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Fact(Generic[T]):
    """One readable thing: `parse` takes the command's outcome and gives a value, or raises Unparsable or Absent.

    `late` looks at what a command that ran out of time has said: it raises Unanswered where that tells why.
    """

    key: Key[T]
    command: Command
    parse: Callable[[Outcome], T]
    late: Callable[[Outcome], None] | None = None

    def read(self, outcome: Outcome) -> T | Missing:
        """The value, or the gap that this outcome shows. A parser's own bug counts as unparsable, not as a crash."""
        try:
            if not outcome.timed_out:
                return self.parse(outcome)
            if self.late is not None:
                self.late(outcome)
        except Unanswered as error:
            return Missing(Gap.TIMED_OUT, str(error), reason=error.reason)
        except Absent as error:
            return Missing(Gap.ABSENT, str(error))
        except Unparsable as error:
            return Missing(Gap.UNPARSABLE, str(error), reason=error.reason)
        except _BUGS as error:
            return Missing(Gap.UNPARSABLE, str(error) or type(error).__name__)
        return Missing(Gap.TIMED_OUT, f"no answer in {self.command.deadline_s:g} s")


@dataclass(frozen=True)
class Facts:
    """What was read from one host in one round trip.

    Attributes:
        host: the host's inventory name.
        at: when, in seconds since the epoch (this machine's clock).
        readings: fact name -> value or Missing.
    """

    host: str
    at: float
    readings: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: Key[T]) -> T | Missing:
        """The reading under `key`; a fact that was never asked for is absent."""
        reading: T | Missing = self.readings.get(key.name, Missing(Gap.ABSENT, "not asked for"))
        return reading

    @property
    def silence(self) -> Missing | None:
        """Why the host said nothing at all; None where it said something."""
        gaps = [one for one in self.readings.values() if isinstance(one, Missing)]
        unreached = [gap for gap in gaps if gap.gap is Gap.UNREACHABLE]
        return unreached[0] if unreached and len(gaps) == len(self.readings) else None

    def value(self, key: Key[T]) -> T | None:
        """The value under `key`, or None where it is missing: only where None is handled as unknown."""
        reading = self.get(key)
        return None if isinstance(reading, Missing) else reading
