"""What breakages leave on a node, written down so that clearing the node undoes all of it. Standard library only.

pids        PID START_TICKS of each process that a breakage started in a session of its own
mounts      each folder that was covered by a full disk
next-fault  what shall go wrong with the next service that starts here
"""

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fleetops.lab import linux
from fleetops.lab.engine.places import NEXT_FAULT, TRACES

_PIDS = TRACES / "pids"
_MOUNTS = TRACES / "mounts"
_DISK_BYTES = 8 * 2**20
_DISK_INODES = 200


def spawn(argv: Sequence[str]) -> int:
    """Start a process in a session of its own, on record; its pid."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _note(_PIDS, f"{process.pid} {_start_ticks(process.pid)}")
    return process.pid


def order(fault: str) -> None:
    """Have the next service go wrong in that way."""
    TRACES.mkdir(parents=True, exist_ok=True)
    NEXT_FAULT.write_text(fault)


def fill(folder: Path) -> None:
    """Put a small disk over a folder and write to it until nothing fits any more."""
    folder.mkdir(parents=True, exist_ok=True)
    _note(_MOUNTS, str(folder))
    linux.mount_tmpfs(folder, size=str(_DISK_BYTES))
    with (folder / "syslog").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def use_inodes(folder: Path) -> None:
    """Put a disk of few inodes over a folder and make files until there is none left."""
    folder.mkdir(parents=True, exist_ok=True)
    _note(_MOUNTS, str(folder))
    linux.mount_tmpfs(folder, size=str(_DISK_BYTES), inodes=_DISK_INODES)
    with contextlib.suppress(OSError):
        for number in range(_DISK_INODES):
            (folder / f"request-{number}.log").touch()


def undo() -> None:
    """End the processes, take the disks off, and forget the fault."""
    for line in _noted(_PIDS):
        pid, ticks = map(int, line.split())
        with contextlib.suppress(OSError):
            if _start_ticks(pid) == ticks:
                os.killpg(pid, signal.SIGKILL)
    for line in reversed(_noted(_MOUNTS)):
        try:
            linux.unmount(line)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a restart of the host has taken it off already
                raise
    for path in (_PIDS, _MOUNTS, NEXT_FAULT):
        path.unlink(missing_ok=True)


def _note(path: Path, line: str) -> None:
    TRACES.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{line}\n")


def _noted(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
