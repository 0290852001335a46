"""This machine, on which the sweeps are started: its programs, its files, and what it has to start things by."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fleetops.model.command import Outcome
from fleetops.model.errors import FleetopsError
from fleetops.ssh.quote import decode, encode
from fleetops.store.whole import write_whole

_DEADLINE_S = 30.0
_CRON_DAEMONS = {"cron", "crond", "fcron", "bcron-sched"}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """It. Tests hand in another root, under which the system's files are looked for."""

    environ: Mapping[str, str]
    root: Path = Path("/")
    uid: int = field(default_factory=os.getuid)

    @property
    def is_root(self) -> bool:
        """Whether the system's own units may be written."""
        return self.uid == 0

    @property
    def user(self) -> str:
        """The user's name; its number where it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def system(self, path: str) -> Path:
        """A file of the system's."""
        return self.root / path.lstrip("/")

    @property
    def config(self) -> Path:
        """The user's configuration folder. Raises FleetopsError without a home."""
        named, home = self.environ.get("XDG_CONFIG_HOME"), self.environ.get("HOME")
        if not named and not home:
            raise FleetopsError("HOME is not set: there is no place for a user's units", hint="set HOME")
        return Path(named) if named else Path(home or "", ".config")

    def which(self, program: str) -> str:
        """Its path; "" where it is not installed."""
        return shutil.which(program, path=self.environ.get("PATH", os.defpath)) or ""

    def run(self, *argv: str, stdin: str | None = None) -> Outcome:
        """Call a program of this machine; 127 where it is not there. `LC_ALL=C`, UTC: what it says is read."""
        environ = {**self.environ, "LC_ALL": "C", "TZ": "UTC", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
        environ.setdefault("XDG_RUNTIME_DIR", f"/run/user/{self.uid}")
        try:
            done = subprocess.run(
                argv,
                input=None if stdin is None else encode(stdin),
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                env=environ,
                timeout=_DEADLINE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(status=None, stderr=f"no answer within {_DEADLINE_S:.0f} s", timed_out=True)
        except OSError as error:
            return Outcome(status=127, stderr=f"{argv[0]}: {error.strerror}")
        return Outcome(status=done.returncode, stdout=decode(done.stdout), stderr=decode(done.stderr))

    @property
    def has_cron_daemon(self) -> bool | None:
        """Whether a daemon that reads crontabs runs; None where processes cannot be seen."""
        names = set(_process_names(self.system("/proc")))
        return bool(names & _CRON_DAEMONS) if names else None


def _process_names(proc: Path) -> Iterator[str]:
    for entry in proc.glob("[0-9]*/comm"):
        with suppress(OSError):
            yield entry.read_text(errors="replace").strip()


def said(outcome: Outcome) -> str:
    """What a failed call came to, in one line."""
    words = [line for line in (outcome.stderr + outcome.stdout).splitlines() if line.strip()]
    return words[-1].strip() if words else f"exit status {outcome.status}"


def read(path: Path) -> str | None:
    """A file's text; None where there is nothing of that name. Raises FleetopsError where it cannot be read."""
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FleetopsError(f"cannot read {path}: {error.strerror}") from error


def write(path: Path, text: str) -> None:
    """Put a file there that everybody may read (0644), all of it or none. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, encode(text), mode=0o644, synced=True)


def write_all(texts: Sequence[tuple[Path, str | None]]) -> None:
    """Several files, all of them or none; None takes one away. Raises OSError."""
    done: list[tuple[Path, str | None]] = []
    try:
        for path, text in texts:
            before = read(path)
            _put(path, text)
            done.append((path, before))
    except BaseException:
        for path, before in reversed(done):
            with suppress(OSError):
                _put(path, before)
        raise


def _put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        write(path, text)
