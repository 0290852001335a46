"""Whose processes are a service's, and their end: by pid and start time, so that a number given to another is never hit.

Runs on the node.
"""
# Plain calls of `os`: this runs in any Python of a node, and takes as little as it can.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from fleetops.steps.support.memory_guard.rooms import text_of


class Kin(NamedTuple):
    """One process: what /proc/PID/stat says that matters here."""

    ppid: int
    pgid: int
    sid: int
    state: str
    threads: int
    ticks: int
    comm: str

    @property
    def lives(self) -> bool:
        """It still holds something; a zombie leader with live threads does."""
        return self.state not in "ZX" or (self.state == "Z" and self.threads > 1)


def look_at(pid: int, proc: str) -> Kin | None:
    """One process; None where it does not exist (any more). The name may hold anything, so it ends at the last `)`."""
    try:
        descriptor = os.open(f"{proc}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        head, _, tail = os.read(descriptor, 4096).rpartition(b")")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    fields = tail.split()
    if len(fields) < 20:
        return None
    comm = head.partition(b"(")[2].decode("utf-8", "replace")
    ppid, pgid, sid = int(fields[1]), int(fields[2]), int(fields[3])
    return Kin(ppid, pgid, sid, fields[0].decode(), int(fields[17]), int(fields[19]), comm)


def look_around(proc: str) -> dict[int, Kin]:
    """Every process."""
    seen = ((int(name), look_at(int(name), proc)) for name in os.listdir(proc) if name.isdigit())
    return {pid: one for pid, one in seen if one}


class Unit:
    """The systemd unit that a service runs in, by its cgroup's folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def pids(self) -> set[int]:
        """Every process in it."""
        found: set[int] = set()
        for folder, _, files in os.walk(self._folder):
            if "cgroup.procs" in files:
                found |= {int(line) for line in text_of(f"{folder}/cgroup.procs").split() if line.isdigit()}
        return found

    def kill(self) -> None:
        """SIGKILL all of it at once (version 2, Linux 5.14); where that is not there, each is killed by itself."""
        try:
            with open(f"{self._folder}/cgroup.kill", "r+", encoding="ascii") as file:
                file.write("1")
        except OSError:
            return


class Family:
    """A service's processes, remembered: what its launcher has started stays its own, whatever became of the launcher.

    `known`: pid -> start time of all that were ever seen to belong to it, and whose number nobody else can have.
    `names`: pid -> the kernel's name of all that were ever seen.
    """

    def __init__(self, pid: int, ticks: int, proc: str = "/proc", unit: Unit | None = None) -> None:
        self.known = {pid: ticks}
        self.names: dict[int, str] = {}
        self._proc = proc
        self.unit = unit
        self._spared = {0, 1, os.getpid()}

    def refresh(self) -> dict[int, Kin]:
        """Look around; returns those that live now: the known, their children, and the groups and sessions they lead."""
        table = look_around(self._proc)
        own = {pid for pid, ticks in self.known.items() if pid in table and table[pid].ticks == ticks}
        if self.unit:
            own |= self.unit.pids() & set(table)
        own -= self._spared
        # A number that somebody else has by now leads nobody of ours; one that no group or session bears any more can be
        # given to anybody, and is forgotten.
        borne = {number for one in table.values() for number in (one.pgid, one.sid)}
        heads = own | {pid for pid in self.known if pid not in table and pid in borne}
        while linked := {pid for pid, one in table.items() if pid not in own and _is_linked(one, heads)}:
            linked -= self._spared
            if not linked:
                break
            own |= linked
            heads |= linked
        self.known = {pid: self.known[pid] for pid in heads - own}
        self.known.update((pid, table[pid].ticks) for pid in own)
        self.names.update((pid, table[pid].comm) for pid in own)
        return {pid: table[pid] for pid in own if table[pid].lives}

    def strike(self) -> set[int]:
        """SIGKILL all that are known, without looking around first: what matters is to be quick. Who was there still."""
        if self.unit:
            self.unit.kill()
        return {pid for pid, ticks in self.known.items() if kill(pid, ticks, self._proc)}


def _is_linked(one: Kin, heads: set[int]) -> bool:
    """A child of one of the heads, or of a group or session that one leads."""
    return one.ppid in heads or one.pgid in heads or one.sid in heads


def kill(pid: int, ticks: int, proc: str) -> bool:
    """SIGKILL to exactly this process; whether it was there. A descriptor of the process keeps its number from being reused."""
    descriptor = _hold(pid)
    try:
        seen = look_at(pid, proc)
        if seen is None or seen.ticks != ticks:
            return False
        if descriptor is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def _hold(pid: int) -> int | None:
    """A descriptor of the process, where this Python (3.9) and this kernel (5.3) have them."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
