"""A schedule kept by cron: a block of this user's crontab, and nothing else of it."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fleetops.fleet.scheduling.cron import Kept, block, block_in, is_due, with_block
from fleetops.fleet.scheduling.machine import Machine, read, said
from fleetops.fleet.scheduling.marks import Mark, read_mark
from fleetops.model.errors import FleetopsError, StepFailed
from fleetops.model.schedule import Keeper, Planned, Schedule, Standing, Written

_DAY_MINUTES = 24 * 60
# Debian's cron and cronie; BusyBox's, which opens the file itself; and whom cron.allow and cron.deny keep from having one.
_EMPTY = ("no crontab for", "No such file or directory", "not allowed to use this program")


@dataclass(frozen=True, kw_only=True)
class Crontab:
    """Its block of one name.

    Attributes:
        state: where runs leave what they said; the block itself says where, once it is there.
    """

    machine: Machine
    name: str
    state: str

    @property
    def keeper(self) -> Keeper:
        """Cron."""
        return Keeper.CRON

    @property
    def place(self) -> str:
        """What it is called."""
        return f"crontab of {self.machine.user}"

    @property
    def has_agent(self) -> bool:
        """Cron has none."""
        return False

    def why_not(self) -> str:
        """Why it cannot start anything here; "" where it can."""
        lacking = [name for name in ("crontab", "flock", "timeout") if not self.machine.which(name)]
        return f"{lacking[0]} is not installed" if lacking else ""

    @property
    def is_there(self) -> bool:
        """Whether it keeps a schedule of this name."""
        return bool(self.machine.which("crontab") and block_in(self._read(), self.name))

    def plan(self, schedule: Schedule) -> Planned:
        """What would be written. Raises UsageError where cron cannot hold it."""
        after = block(schedule, self._kept(schedule.state), self.machine.which("flock") or "flock")
        text = Written(place=self.place, before=block_in(self._read(), self.name), after=after)
        return Planned(schedule=schedule, keeper=self.keeper, texts=(text,), notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        if self.machine.has_cron_daemon is False:
            return ("no cron daemon was seen running here: until one does, nothing is started",)
        return ()

    def install(self, planned: Planned) -> None:
        """Put the block there. Raises FleetopsError where the crontab does not take it."""
        folder = Path(planned.schedule.state, "schedule")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FleetopsError(f"cannot make {folder}: {error.strerror}; nothing is changed") from error
        self._change(planned.texts[0].after)

    def remove(self) -> tuple[str, ...]:
        """Take the block away, and what the runs have left."""
        if not self.is_there:
            return ()
        mark = read_mark(block_in(self._read(), self.name)) or Mark()
        self._change("")
        kept = self._kept(mark.state or self.state)
        for file in kept.files:
            with suppress(OSError):
                Path(file).unlink(missing_ok=True)
        with suppress(OSError):
            Path(kept.folder).rmdir()
        return (self.place,)

    def stands(self, now: float) -> Standing:
        """As the block and what its runs left tell."""
        text = block_in(self._read(), self.name)
        mark = read_mark(text) or Mark()
        kept = self._kept(mark.state or self.state)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        fields = lines[0] if lines else ""
        began, ended = _changed_at(kept.file("began")), _changed_at(kept.file("status"))
        has_ended = began is not None and ended is not None and ended >= began
        has_daemon = self.machine.has_cron_daemon
        return Standing(
            name=self.name,
            keeper=self.keeper,
            places=(self.place,),
            every_s=mark.every_s,
            command=" ".join(fields.split()[5:]).replace("\\%", "%"),
            state=mark.state,
            active=has_daemon,
            enabled=bool(lines) or None,
            next_at=next_minute(fields, now) if has_daemon is not False else None,
            last_at=began,
            running=began is not None and not has_ended,
            last_s=ended - began if began is not None and ended is not None and has_ended else None,
            last_exit=_number(kept.file("status")) if has_ended else None,
            log=f"cat {kept.file('out')}",
            troubles=(*self._notes(), *(() if lines else ("its block holds no line",))),
        )

    def _kept(self, state: str) -> Kept:
        return Kept(str(Path(state, "schedule")), self.name)

    def _read(self) -> str:
        """The whole of it. Raises FleetopsError where it cannot be told: it must not be taken for an empty one."""
        shown = self.machine.run("crontab", "-l")
        if shown.ok:
            return shown.stdout
        if shown.status == 1 and not shown.stdout and any(word in shown.stderr for word in _EMPTY):
            return ""
        raise FleetopsError(
            f"cannot read the {self.place}: {said(shown)}; nothing is changed", hint="crontab -l"
        )

    def _change(self, text: str) -> None:
        """Read it, put the block in its place, write it, and read it again."""
        wanted = with_block(self._read(), self.name, text)
        done = self.machine.run("crontab", "-", stdin=wanted) if wanted else self.machine.run("crontab", "-r")
        if not done.ok:
            raise FleetopsError(
                f"the {self.place} was not taken: {said(done)}; it is as it was", hint="crontab -l"
            )
        if self._read() != wanted:
            raise StepFailed(
                f"the {self.place} is not what was written: somebody else has changed it at the same moment",
                hint="look at it with crontab -l, and try again",
            )


def next_minute(fields: str, now: float) -> float | None:
    """When cron starts such a line next, by this machine's clock; None where its fields say no minute of a day."""
    if len(fields.split()) < 5:
        return None
    first = now // 60 * 60
    for at in (first + 60 * ahead for ahead in range(1, _DAY_MINUTES + 1)):
        local = time.localtime(at)
        if is_due(fields, local.tm_min, local.tm_hour):
            return at
    return None


def _number(path: str) -> int | None:
    text = (read(Path(path)) or "").strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def _changed_at(path: str) -> float | None:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return None
