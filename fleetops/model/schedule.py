"""A sweep that this machine starts by itself every so often: what is to be started, what was written for it, how it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Keeper(StrEnum):
    """What starts the sweeps."""

    SYSTEM = "systemd"
    USER = "systemd --user"
    CRON = "cron"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What is to be started.

    Attributes:
        name: `fleetops-sweep-` and what tells this inventory from others on the machine.
        inventory: where it lies, absolute.
        argv: the whole command, its program and every path in it absolute.
        environment: what it needs beside that: HOME, where state and cache lie.
        every_s, deadline_s: how often, and how long one sweep may take.
        state: the state folder. writable: every folder that a sweep writes to, state among them.
        needs: every other place that it has to see.
    """

    name: str
    inventory: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    every_s: float
    deadline_s: float
    state: str
    writable: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def limit_s(self) -> int:
        """When a sweep that does not end by itself is ended: well after its own deadline."""
        return int(self.deadline_s) + 60


@dataclass(frozen=True, kw_only=True)
class Written:
    """One text that keeps a schedule: a unit's file, or a block of lines in a crontab. Empty: there is none."""

    place: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What an installation writes, and by whom it is kept."""

    schedule: Schedule
    keeper: Keeper
    texts: tuple[Written, ...]
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether any text differs from what is there."""
        return any(text.before != text.after for text in self.texts)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A schedule as it stands. What cannot be told is None or empty.

    Attributes:
        every_s, command, state: as they are written down there.
        places: the files, or the crontab.
        active: whether it will start the next sweep; enabled: whether it will after the next boot.
        running: whether a sweep is under way.
        next_at, last_at, last_s: seconds since the epoch, and how long the last one took.
        last_exit: the exit code of the last run; last_result: in the keeper's own words, where it is no success.
        log: the command that shows what the runs have said.
        troubles: what keeps it from doing what it should.
    """

    name: str
    keeper: Keeper
    places: tuple[str, ...]
    every_s: float | None = None
    command: str = ""
    state: str = ""
    active: bool | None = None
    enabled: bool | None = None
    running: bool = False
    next_at: float | None = None
    last_at: float | None = None
    last_s: float | None = None
    last_exit: int | None = None
    last_result: str = ""
    log: str = ""
    troubles: tuple[str, ...] = ()

    @property
    def ran_well(self) -> bool | None:
        """Whether the last run came to an end of its own: findings and what is unknown are no failure. None before one."""
        if self.last_result:
            return False
        return None if self.last_exit is None else self.last_exit in RAN_WELL


RAN_WELL = (0, 1, 3)
"""Exit codes of a sweep that has looked: nothing wrong, findings, something unknown."""
