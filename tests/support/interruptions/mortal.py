"""fleetops, but that it numbers its points between two effects, and kills itself (SIGKILL) at one of them.

A point is right after something was written down, while a change is on its way to a host, and right after it has come
back. Run as `python -P mortal.py LOG POINT COMMAND ...`: LOG gets one line a point, `NUMBER WHAT`; POINT is a number, or a
WHAT, of which the first counts; 0 is none.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recovery_matrix.impatient import impatient
from unfenced import unfenced

from fleetops.cli.main import entry
from fleetops.model.command import Command, Outcome
from fleetops.playbook import load
from fleetops.playbook.journal import Journal
from fleetops.ssh.session import SshSession

# Long enough for a command to have arrived, too short for most to have ended.
_ON_ITS_WAY_S = 0.05


class Mortal:
    """Counts points; at the one that was asked for the process is gone."""

    def __init__(self, log: Path, dies_at: str) -> None:
        self._log, self._dies_at, self._count = log, dies_at, 0

    def point(self, what: str, after_s: float = 0.0) -> None:
        """The next point; with `after_s` the end comes that much later, whatever goes on meanwhile."""
        self._count += 1
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{self._count} {what}\n")
        if self._dies_at in {str(self._count), what}:
            self._dies_at = ""
            if not after_s:
                die()
            threading.Timer(after_s, die).start()

    def writing(self, write: Callable[..., None]) -> Callable[..., None]:
        """Journal.write, and a point after it."""

        def written(journal: Journal, event: str, at: float, **body: Any) -> None:
            write(journal, event, at, **body)
            self.point(f"{event} {body.get('step', '')}".strip())

        return written

    def running(self, run: Callable[..., Outcome]) -> Callable[..., Outcome]:
        """SshSession.run, and for a change a point while it is on its way and one after it."""

        def ran(session: SshSession, command: Command, *given: Any, **named: Any) -> Outcome:
            if not command.changes:
                return run(session, command, *given, **named)
            argv = unfenced(command)
            name = argv[3] if argv[0] == "sh" else argv[0]
            self.point(f"{name} on its way", _ON_ITS_WAY_S)
            outcome = run(session, command, *given, **named)
            self.point(f"{name} made")
            return outcome

        return ran


def die() -> None:
    """As the kernel's OOM killer or a power cut would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    mortal = Mortal(Path(sys.argv[1]), sys.argv[2])
    del sys.argv[1:3]
    Journal.write = mortal.writing(Journal.write)  # type: ignore[method-assign]
    SshSession.run = mortal.running(SshSession.run)  # type: ignore[method-assign]
    load.shipped_playbook = impatient
    entry()
