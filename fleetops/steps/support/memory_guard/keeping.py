"""What the guard tells: its state in a file that is always whole, a line in its log for everything that happens.

Runs on the node. And how it makes itself hard to end: in memory for good, spared by the OOM killer, ahead of others.
"""
# Plain calls of `os`: this runs in any Python of a node, and takes as little as it can.
# ruff: noqa: PTH105, PTH112, PTH123

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import time
from typing import Any

from fleetops.steps.support.memory_guard.rooms import text_of

_LOCK_NOW, _LOCK_LATER = 1, 2
_SPARED = -1000


class State:
    """The guard's state file, /run/fleetops/guard/RUN.json; moved into place, so that a reader sees the old or the new."""

    def __init__(self, path: str, fields: dict[str, Any]) -> None:
        self.path = path
        self.fields = fields

    def write(self, **changes: Any) -> None:
        """Put the state down. A file that cannot be written stops nobody from watching: it is said in the log."""
        self.fields.update(changes)
        try:
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                file.write(json.dumps(self.fields) + "\n")
            os.replace(self.path + ".new", self.path)
        except OSError as error:
            say(f"the state could not be written: {error}")


def say(text: str) -> None:
    """One line of the log, which is standard output; a log that is full or gone is no reason to stop."""
    with contextlib.suppress(OSError):
        os.write(1, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode())


def gigabytes(size_bytes: int) -> str:
    """Decimal gigabytes for a person; what is less than one of them in megabytes."""
    return f"{size_bytes / 1e6:,.0f} MB" if abs(size_bytes) < 10**9 else f"{size_bytes / 1e9:,.1f} GB"


def harden(proc: str, cgroup: str) -> tuple[bool, list[str]]:
    """Lock everything in memory, ask to be spared, go ahead of others, leave the login's cgroup.

    Returns whether it is locked, and what could not be done, and why.

    None of it is a condition: a guard that may be swapped or slowed is better than none.
    """
    notes: list[str] = []
    gc.collect()
    gc.disable()
    libc = ctypes.CDLL(None, use_errno=True)
    locked = libc.mlockall(_LOCK_NOW | _LOCK_LATER) == 0
    if not locked:
        notes.append(f"not locked in memory: {os.strerror(ctypes.get_errno())}")
    try:
        with open(f"{proc}/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(_SPARED))
    except OSError as error:
        notes.append(f"not spared by the OOM killer: {error.strerror}")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        notes.append(f"not ahead of other processes: {error.strerror}")
    if not left_login(proc, cgroup):
        notes.append("not out of the login's cgroup: it may be ended with the connection")
    return locked, notes


def left_login(proc: str, cgroup: str) -> bool:
    """Move from a login session's cgroup into the first process's; False where that is not allowed.

    With KillUserProcesses=yes logind ends everything in the session's when the connection that started the guard is closed.
    """
    # What systemd keeps its units in: version 2 (beside version 1 in a folder of its own), and before it a hierarchy by name.
    unified = cgroup + "/unified" if os.path.isdir(cgroup + "/unified") else cgroup
    bases = {"": unified, "name=systemd": cgroup + "/systemd"}
    if not _in_session(f"{proc}/self/cgroup", bases):
        return True
    for hierarchy, path in _paths(f"{proc}/1/cgroup"):
        if hierarchy in bases:
            target = f"{bases[hierarchy]}{path}/cgroup.procs"
            with contextlib.suppress(OSError), open(target, "r+", encoding="ascii") as file:
                file.write(str(os.getpid()))
    return not _in_session(f"{proc}/self/cgroup", bases)


def _in_session(file: str, bases: dict[str, str]) -> bool:
    return any(hierarchy in bases and "/session-" in path for hierarchy, path in _paths(file))


def _paths(file: str) -> list[list[str]]:
    """Hierarchy and path of each line of a /proc/PID/cgroup."""
    return [line.split(":", 2)[1:] for line in text_of(file).splitlines()]
