"""A backup of a guest that takes as long as one likes: the guest's lock, the running task, a process that works.

`vzdump start KIND ID` begins one and returns when it has the lock; `vzdump end KIND ID` ends it, as a backup ends;
`vzdump kill KIND ID` has it end without a word, its lock left behind. Not a command of the lab's hosts; breakages use it.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from fleetops.lab.engine.kernel import set_title
from fleetops.lab.tools.proxmox import Guest, guest, task, tasks

_LOCK = "lock: backup\n"
_PATIENCE_S = 10.0


def main() -> int:
    """Run with the command line's arguments."""
    action, kind, number = sys.argv[1:4]
    found = guest(kind, number)
    if action == "start":
        if os.fork() == 0:
            _work(found)
        return _await(found, "backup")
    if action == "kill":
        return _kill(found)
    return end(found)


def end(found: Guest) -> int:
    """End its backup, or take off the lock that a killed one left; nothing where there is none."""
    for pid in _running(found):
        os.kill(pid, signal.SIGTERM)
    if not _running(found):
        _set_lock(found, locked=False)
    return _await(found, "")


def _work(found: Guest) -> NoReturn:
    """The backup's own process, until it is told to end."""
    os.setsid()
    quiet = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("job errors"))
    with contextlib.suppress(SystemExit), task("vzdump", found.id):
        set_title(f"task {tasks()[0]['upid']}")
        _set_lock(found, locked=True)
        try:
            while True:
                signal.pause()
        finally:
            _set_lock(found, locked=False)
    os._exit(0)


def _running(found: Guest) -> list[int]:
    """Pids of its backups that still work."""
    records = [each for each in tasks() if each["type"] == "vzdump" and each["id"] == str(found.id)]
    return [
        each["pid"]
        for each in records
        if "endtime" not in each and Path(f"/proc/{each['pid']}/cmdline").exists()
    ]


def _kill(found: Guest) -> int:
    for pid in _running(found):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_S
    while left := _running(found):
        if time.monotonic() > deadline:
            print(f"the backup of guest {found.id} lives on as {left}", file=sys.stderr)
            return 1
        time.sleep(0.02)
    return 0


def _set_lock(found: Guest, *, locked: bool) -> None:
    """Put the lock into the guest's configuration, or take it out."""
    lines = [line for line in found.file.read_text().splitlines(keepends=True) if line != _LOCK]
    fresh = found.file.with_name(f".{found.file.name}")
    fresh.write_text("".join([*lines, *([_LOCK] if locked else [])]))
    fresh.rename(found.file)


def _await(found: Guest, lock: str) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while found.lock() != lock:
        if time.monotonic() > deadline:
            print(f"the lock of guest {found.id} stays {found.lock() or 'off'}", file=sys.stderr)
            return 1
        time.sleep(0.02)
    return 0
