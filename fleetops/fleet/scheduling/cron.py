"""The lines of a crontab that keep a schedule, between two marks of their own. Pure; crontab(5)."""

import re
import shlex
from dataclasses import dataclass

from fleetops.fleet.scheduling.marks import mark_of
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.schedule import Schedule
from fleetops.ssh.quote import encode

LONGEST_COMMAND = 998
"""Bytes that Debian's cron takes (MAX_COMMAND of Vixie cron); what is longer it would cut."""

_MINUTES = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
_HOURS = (2, 3, 4, 6, 8, 12, 24)
_EVERY = re.compile(r"\*(?:/(\d+))?")


@dataclass(frozen=True)
class Kept:
    """The folder where a run of cron's leaves what it said, when it began, how it ended, and its lock."""

    folder: str
    name: str

    def file(self, what: str) -> str:
        """`out`, `began`, `status` or `lock`."""
        return f"{self.folder}/{self.name}.{what}"

    @property
    def files(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(map(self.file, ("out", "began", "status", "lock")))


def when(every_s: float) -> str:
    """The first five fields. Raises UsageError for what cron's beat cannot be."""
    minutes, rest = int(every_s // 60), every_s % 60
    if not rest and minutes in _MINUTES:
        return {1: "* * * * *", 60: "0 * * * *"}.get(minutes, f"*/{minutes} * * * *")
    if not rest and minutes % 60 == 0 and minutes // 60 in _HOURS:
        return "0 0 * * *" if minutes == 24 * 60 else f"0 */{minutes // 60} * * *"
    possible = [*(one * 60 for one in _MINUTES), *(one * 3600 for one in _HOURS)]
    nearest = min(possible, key=lambda one: abs(one - every_s))
    said = f"{nearest // 60}m" if nearest < 3600 else f"{nearest // 3600}h"
    raise UsageError(
        f"cron cannot start anything every {every_s:g} s: it counts whole minutes that divide an hour, or hours a day",
        hint=f"fleetops schedule install --every {said}",
    )


def is_due(fields: str, minute: int, hour: int) -> bool:
    """Whether such fields name this minute of a day."""
    return all(_matches(field, now) for field, now in zip(fields.split()[:2], (minute, hour), strict=True))


def _matches(field: str, now: int) -> bool:
    if found := _EVERY.fullmatch(field):
        return now % int(found[1] or 1) == 0
    return field.isdecimal() and int(field) == now


def cron_line(schedule: Schedule, kept: Kept, flock: str) -> str:
    """One line. A run that finds another one at work ends at once; one that hangs is ended.

    Raises UsageError where cron cannot hold it.
    """
    environment = [f"{name}={value}" for name, value in schedule.environment.items()]
    limited = ["timeout", "-k", "10", str(schedule.limit_s), "nice", "-n", "10"]
    command = shlex.join(("env", *environment, *limited, *schedule.argv))
    name = shlex.quote(schedule.name)
    line = (
        f"umask 077; cd {shlex.quote(kept.folder)} && ({shlex.quote(flock)} -n 9 || exit 0; : >{name}.began; "
        f'{command} </dev/null >{name}.out 2>&1; echo "$?" >{name}.status) 9>{name}.lock'
    )
    if "\n" in line:
        raise UsageError("a path or pattern holds a newline, which no crontab may")
    line = line.replace("%", "\\%")  # cron's own newline
    if len(encode(line)) > LONGEST_COMMAND:
        raise UsageError(
            f"the command has {len(encode(line))} bytes, and cron takes {LONGEST_COMMAND}",
            hint="put the hosts into a group of the inventory: fleetops schedule install @GROUP",
        )
    return f"{when(schedule.every_s)} {line}"


def block(schedule: Schedule, kept: Kept, flock: str) -> str:
    """The line between its marks."""
    begin, end = _ends(schedule.name)
    return f"{begin}\n{mark_of(schedule)}\n{cron_line(schedule, kept, flock)}\n{end}\n"


def block_in(crontab: str, name: str) -> str:
    """The block of this name as it stands there; "" where there is none."""
    found = _span(crontab, name)
    return crontab[found[0] : found[1]] if found else ""


def with_block(crontab: str, name: str, text: str) -> str:
    """With this block, where the old one stood or at the end; without any for "". Everything else stays as it is."""
    found = _span(crontab, name)
    if found:
        return crontab[: found[0]] + text + crontab[found[1] :]
    joint = "\n" if crontab and text and not crontab.endswith("\n") else ""
    return crontab + joint + text


def _ends(name: str) -> tuple[str, str]:
    return f"# fleetops {name} begin", f"# fleetops {name} end"


def _span(crontab: str, name: str) -> tuple[int, int] | None:
    """Where the block begins and ends. Raises FleetopsError where its marks are not one pair in order."""
    begin, end = _ends(name)
    begins, ends = (
        [found.span() for found in re.finditer(rf"^{re.escape(mark)}(?:\n|\Z)", crontab, re.MULTILINE)]
        for mark in (begin, end)
    )
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0][0] > ends[0][0]:
        raise FleetopsError(
            f"the crontab's lines `{begin}` and `{end}` are not one pair: somebody has changed them, and nothing is touched",
            hint="crontab -e, and take those lines and what is between them out",
        )
    return begins[0][0], ends[0][1]
