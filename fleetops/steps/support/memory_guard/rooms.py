"""How much memory is left: MemAvailable, and the room in each memory cgroup.

Runs on the node. Files are opened once and read again and again into the same buffers, so that watching takes no memory.
"""
# Plain calls of `os`: this runs in any Python of a node, and takes as little as it can.
# ruff: noqa: PTH110, PTH112, PTH123

from __future__ import annotations

import contextlib
import os

# Version 1 of cgroups says 9223372036854771712 (the largest whole page count) for no limit.
UNLIMITED_BYTES = 2**62
_BUFFER_BYTES = 32768


class File:
    """One file of the kernel's, read from its start each time. A reading that fails is tried on a fresh descriptor."""

    def __init__(self, path: str) -> None:
        """Raises OSError where it cannot be opened."""
        self.path = path
        self._buffer = bytearray(_BUFFER_BYTES)
        self._size = 0
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bool:
        """Take the content in; False where it cannot be read (a cgroup that is gone, an lxcfs that was restarted)."""
        try:
            self._size = os.preadv(self._descriptor, [self._buffer], 0)
        except OSError:
            self._size = 0
            self._reopen()
        return self._size > 0

    def number(self, name: bytes = b"") -> int | None:
        """The number that follows `name` at the start of a line; without a name the first word. None for anything else."""
        start = self._start_of(name)
        if start is None:
            return None
        end = self._buffer.find(b"\n", start, self._size)
        words = self._buffer[start : end if end >= 0 else self._size].split()
        return int(words[0]) if words and words[0].isdigit() else None

    def _start_of(self, name: bytes) -> int | None:
        if not name:
            return 0
        if self._buffer.startswith(name):
            return len(name)
        found = self._buffer.find(b"\n" + name, 0, self._size)
        return None if found < 0 else found + 1 + len(name)

    def _reopen(self) -> None:
        try:
            fresh = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        os.close(self._descriptor)
        self._descriptor = fresh

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)


class MemAvailable:
    """What the node itself says may still be taken; in a container this is lxcfs's word, bounded by its limit."""

    label = "MemAvailable"

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._file = File(path)

    def room(self) -> int | None:
        """Bytes; None where nothing sensible can be read (lxcfs has been seen to give MemTotal 0)."""
        if not self._file.read():
            return None
        available, total = self._file.number(b"MemAvailable:"), self._file.number(b"MemTotal:")
        if available is None or not total or available > total:
            return None
        return available * 1024


class Level:
    """One memory cgroup, version 1 or 2: limit - (usage - file pages that can be dropped). Shared memory is used memory."""

    _VERSIONS = (
        # limits, usage, file pages in memory.stat (shared memory is in neither list), counter of kills
        (("memory.max", "memory.high"), "memory.current", (b"inactive_file ", b"active_file ")),
        (
            ("memory.limit_in_bytes",),
            "memory.usage_in_bytes",
            (b"total_inactive_file ", b"total_active_file "),
        ),
    )

    def __init__(self, folder: str, shown: str) -> None:
        """Raises OSError where the folder keeps no account of memory."""
        self.label = "the room in cgroup " + (shown or "/")
        limits, usage, self._droppable = next(
            (one for one in self._VERSIONS if os.path.exists(folder + "/" + one[1])), self._VERSIONS[0]
        )
        self._usage = File(folder + "/" + usage)
        self._stat = File(folder + "/memory.stat")
        self._limits = [File(folder + "/" + name) for name in limits if os.path.exists(folder + "/" + name)]

    def room(self) -> int | None:
        """Bytes; None where there is no limit, or it is gone."""
        told = [limit.number() for limit in self._limits if limit.read()]
        limited = [size for size in told if size is not None and size < UNLIMITED_BYTES]
        if not limited or not self._usage.read() or not self._stat.read():
            return None
        used = self._usage.number()
        if used is None:
            return None
        return min(limited) - used + sum(self._stat.number(name) or 0 for name in self._droppable)

    def close(self) -> None:
        """Give the descriptors back."""
        for file in (self._usage, self._stat, *self._limits):
            file.close()


class Bounds:
    """Everything that bounds what a service may take: MemAvailable, and the cgroups of the process that is followed."""

    def __init__(self, meminfo: str, proc: str, cgroup: str, unit: str) -> None:
        """Raises OSError where there is no meminfo. At first the reader's own cgroups count."""
        self._available = MemAvailable(meminfo)
        self._levels: list[Level] = []
        self._proc, self._cgroup, self._unit = proc, cgroup, unit
        self._followed = ""
        self.follow("self")

    def follow(self, whose: str) -> None:
        """From here on the memory cgroups of that process count (a pid, or `self`); asked again, it may have been moved."""
        text = text_of(f"{self._proc}/{whose}/cgroup")
        if not text or text == self._followed:
            return
        for level in self._levels:
            level.close()
        self._levels, self._followed = [], text
        for folder in levels(text, self._cgroup, self._unit):
            with contextlib.suppress(OSError):
                self._levels.append(Level(folder, folder[len(self._cgroup) :]))

    def least(self) -> tuple[int, str] | None:
        """The least room there is now, in bytes, and where; None where nothing can be read."""
        least: tuple[int, str] | None = None
        bounds: list[MemAvailable | Level] = [self._available, *self._levels]
        for bound in bounds:
            room = bound.room()
            if room is not None and (least is None or room < least[0]):
                least = (room, bound.label)
        return least


def text_of(path: str) -> str:
    """A small file; "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def levels(cgroup_text: str, base: str, unit: str = "") -> list[str]:
    """The folders of a process's memory cgroups, its own first, the visible root last, by its /proc/PID/cgroup.

    The unit's own level is left out: its limit is MemoryMax, which ends where the floor begins. Inside a container paths
    may lead above what it sees (`/..`): then only the root is left.
    """
    found = {"": "", "memory": ""}
    for line in cgroup_text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):
            if name in found:
                found[name] = path
    path = found["memory"] if os.path.isdir(base + "/memory") else found[""]
    base = base + "/memory" if os.path.isdir(base + "/memory") else base
    path = "" if path.startswith("/..") else path.rstrip("/")
    folders = []
    while True:
        if not unit or path.rpartition("/")[2] != unit:
            folders.append(base + path)
        if not path:
            return folders
        path = path.rpartition("/")[0]
