"""The lab's first process, as the outside knows it: by pid and start time, so that no other is taken for it."""

import json
import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path

PROCESS = "process.json"
REFUSAL = "refusal.json"
_END_S = 20.0


@dataclass(frozen=True)
class LabProcess:
    """A pid with the clock tick at which it started (proc(5), field 22 of stat)."""

    pid: int
    start_ticks: int

    @property
    def is_alive(self) -> bool:
        """It is still this very process, and not a zombie."""
        return start_ticks(self.pid) == self.start_ticks

    def end(self) -> None:
        """SIGKILL it, and return when it and with it everything in the lab has ended. Raises TimeoutError."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                if not select.select([descriptor], [], [], _END_S)[0]:
                    raise TimeoutError(f"process {self.pid} does not end")
        finally:
            os.close(descriptor)


def lab_process(folder: Path) -> LabProcess | None:
    """The process that holds the lab in `folder`, dead or alive; None where none was ever started."""
    path = folder / PROCESS
    if not path.exists():
        return None
    return LabProcess(**json.loads(path.read_text()))


def start_ticks(pid: int) -> int | None:
    """When a process started, in ticks since boot; None where it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
