"""A check of the operator's own: a command, how to read it, and from where on it is a warning or critical."""

from dataclasses import dataclass
from typing import Literal

from fleetops.model.fact import Key

ReadAs = Literal["status", "number", "text"]
PREFIX = "own:"
"""Before the name of such a check, so that none is taken for a shipped one."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """Where a number is too high or too low; None where it cannot be."""

    above: float | None = None
    below: float | None = None

    def crossed(self, value: float) -> str:
        """In words, how; "" where it is not."""
        if self.above is not None and value > self.above:
            return f"above {self.above:g}"
        return f"below {self.below:g}" if self.below is not None and value < self.below else ""


@dataclass(frozen=True, kw_only=True)
class OwnCheck:
    """As the inventory has it.

    Attributes:
        command: an argv, run on each of `hosts` (patterns; all nodes where there are none).
        read: `status` (0 is well), `number` (the first group of `pattern` in what it prints, else all of it), or `text`
            (`pattern` must be found in it).
        warning, critical: of a number.
        severity: of a status that is not 0, and of a text that lacks the pattern.
        says: the finding's subject; next: the command to type, `{host}` being the host.
    """

    name: str
    command: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    root: bool = False
    deadline_s: float = 10.0
    read: ReadAs = "status"
    pattern: str = ""
    warning: Line = Line()
    critical: Line = Line()
    severity: Literal["warning", "critical"] = "warning"
    says: str = ""
    next: str = ""

    @property
    def full_name(self) -> str:
        """As findings, `ack` and `silence` have it."""
        return f"{PREFIX}{self.name}"

    @property
    def key(self) -> "Key[OwnReading]":
        """Under which what it printed is kept."""
        return Key(self.full_name)


@dataclass(frozen=True, kw_only=True)
class OwnReading:
    """What its command gave. `number` only where it is read as one; `text` is its first line, cut."""

    status: int
    text: str
    number: float | None = None
    matched: bool = True
