"""A schedule kept by systemd: the system's manager, or the user's own."""

from dataclasses import dataclass
from pathlib import Path

from fleetops.fleet.scheduling.machine import Machine, read, said, write_all
from fleetops.fleet.scheduling.marks import read_mark
from fleetops.fleet.scheduling.units import service_unit, timer_unit
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.schedule import Keeper, Planned, Schedule, Written

SYSTEM_UNITS = "/etc/systemd/system"
_MANAGER = "/run/systemd/system"
_LINGER = "/var/lib/systemd/linger"


@dataclass(frozen=True, kw_only=True)
class Systemd:
    """Its units of one name on this machine."""

    machine: Machine
    name: str
    is_system: bool

    @property
    def keeper(self) -> Keeper:
        """Which of the two it is."""
        return Keeper.SYSTEM if self.is_system else Keeper.USER

    @property
    def service(self) -> str:
        """The unit that sweeps."""
        return f"{self.name}.service"

    @property
    def timer(self) -> str:
        """The unit that starts it."""
        return f"{self.name}.timer"

    @property
    def files(self) -> tuple[Path, Path]:
        """The service's and the timer's. Raises FleetopsError where a user has no home."""
        folder = self.machine.system(SYSTEM_UNITS) if self.is_system else self.machine.config / "systemd/user"
        return folder / self.service, folder / self.timer

    @property
    def control(self) -> tuple[str, ...]:
        """systemctl, to this manager."""
        return ("systemctl",) if self.is_system else ("systemctl", "--user")

    @property
    def log(self) -> str:
        """What shows the runs' output."""
        return f"journalctl {'' if self.is_system else '--user '}--unit {self.service}"

    @property
    def has_agent(self) -> bool:
        """Whether what it starts is told of an SSH agent, as a user's manager may be."""
        if self.is_system:
            return False
        known = self.machine.run(*self.control, "show-environment").stdout.splitlines()
        return any(line.startswith("SSH_AUTH_SOCK=") for line in known)

    def why_not(self) -> str:
        """Why it cannot start anything here; "" where it can."""
        if not self.machine.system(_MANAGER).is_dir():
            return "systemd is not this machine's first process"
        if self.is_system:
            return "" if self.machine.which("systemctl") else "systemctl is not installed"
        asked = self.machine.run(*self.control, "show", "--property=Version")
        return (
            "" if asked.ok else f"the systemd manager of {self.machine.user} does not answer: {said(asked)}"
        )

    @property
    def is_there(self) -> bool:
        """Whether it keeps a schedule of this name, or half of one."""
        try:
            files = self.files
        except FleetopsError:
            return False
        return any(path.exists() or path.is_symlink() for path in files)

    def plan(self, schedule: Schedule) -> Planned:
        """What would be written. Raises Refused where a file of that name is not fleetops's own."""
        before = [self._own(path) for path in self.files]
        after = (service_unit(schedule, system=self.is_system), timer_unit(schedule))
        texts = zip(self.files, before, after, strict=True)
        return Planned(
            schedule=schedule,
            keeper=self.keeper,
            texts=tuple(Written(place=str(path), before=old, after=new) for path, old, new in texts),
            notes=self._notes(),
        )

    def _own(self, path: Path) -> str:
        text = "" if path.is_symlink() else read(path)
        if text is None:
            return ""
        if read_mark(text) is None:
            raise Refused(
                f"{path} is there, and fleetops has not written it: it is left as it is",
                guard="own-files",
                hint=f"look at it, and move it away: systemctl {'' if self.is_system else '--user '}cat {path.name}",
            )
        return text

    def _notes(self) -> tuple[str, ...]:
        machine = self.machine
        if self.is_system or machine.system(f"{_LINGER}/{machine.user}").exists():
            return ()
        until = f"sweeps stop when {machine.user} logs out, and begin at the next login"
        return (f"{until}; to have them always: loginctl enable-linger {machine.user}",)

    def install(self, planned: Planned) -> None:
        """Write it, and have it started. Raises FleetopsError, nothing written; StepFailed, written but not started."""
        texts = [(Path(text.place), text.after) for text in planned.texts if text.before != text.after]
        try:
            write_all(texts)
        except OSError as error:
            raise self._unwritable("write", error) from error
        again = " ".join(self.control)
        self._must(
            (("daemon-reload",), ("enable", "--quiet", self.timer), ("restart", self.timer)),
            f"{self.files[1]} is written, but not started",
            f"{again} daemon-reload && {again} enable --now {self.timer}; or: fleetops schedule remove",
        )

    def remove(self) -> tuple[str, ...]:
        """Stop it, and take its own files away; their paths. Raises Refused for one that is not its own."""
        own = [path for path in self.files if self._own(path)]
        if not own:
            return ()
        answers = not self.why_not()
        if answers:
            self._must(
                (("disable", "--now", self.timer), ("stop", self.service)),
                f"{self.timer} could not be stopped, and nothing is removed",
                f"{' '.join(self.control)} status {self.timer}",
                gone_is_fine=True,
            )
        try:
            write_all([*((path, None) for path in own), *((path, None) for path in self._wanted())])
        except OSError as error:
            raise self._unwritable("remove", error) from error
        if answers:
            self.machine.run(*self.control, "reset-failed", self.service, self.timer)
            self.machine.run(*self.control, "daemon-reload")
        return tuple(map(str, own))

    def _wanted(self) -> tuple[Path, ...]:
        """The link of an enabled timer, where no manager answers that would take it away."""
        link = self.files[1].parent / "timers.target.wants" / self.timer
        return (link,) if link.is_symlink() else ()

    def _must(
        self, calls: tuple[tuple[str, ...], ...], failed: str, hint: str, *, gone_is_fine: bool = False
    ) -> None:
        for call in calls:
            done = self.machine.run(*self.control, *call)
            is_gone = gone_is_fine and ("does not exist" in done.stderr or "not loaded" in done.stderr)
            if not done.ok and not is_gone:
                command = " ".join((*self.control, *call))
                raise StepFailed(f"{failed}: `{command}`: {said(done)}", hint=hint)

    def _unwritable(self, do: str, error: OSError) -> FleetopsError:
        folder = self.files[0].parent
        hint = (
            "as root, or for your user alone: --user"
            if self.is_system
            else f"see what is wrong with {folder}"
        )
        return FleetopsError(
            f"cannot {do} units in {folder}: {error.strerror}; nothing is changed", hint=hint
        )
