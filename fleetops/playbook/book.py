"""A playbook: an ordered list of steps with their options and conditions, from YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One step of a playbook.

    Attributes:
        when: names of checks; the step runs only if one of them has found something certain. Empty: always.
        until: names of facts that must hold afterwards, within `deadline_s`.
    """

    step: str
    options: Mapping[str, Any] = field(default_factory=dict)
    when: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    deadline_s: float = 60.0
    on_failure: Literal["stop", "next"] = "stop"


@dataclass(frozen=True, kw_only=True)
class Playbook:
    """A named list of steps."""

    name: str
    summary: str
    entries: tuple[Entry, ...]
