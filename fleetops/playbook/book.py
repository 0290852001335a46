"""A playbook: an ordered list of steps with their options and conditions, from YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Relaunch = Literal["always", "with-profile", "if-asked"]


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
    """A named list of steps.

    Attributes:
        relaunch: when `fleetops playbook run` takes the steps that start a service: in any case (a node without a profile
            is refused), where the node has a profile, or only where the operator names one.
        file: where it was read, as it is shown; "" for a shipped one.
        left_out: which of the file's steps are not among the entries, and why, in words; "" where all are.
    """

    name: str
    summary: str
    entries: tuple[Entry, ...]
    relaunch: Relaunch = "always"
    file: str = ""
    left_out: str = ""
