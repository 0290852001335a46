"""Pinned host memory: taken gigabyte by gigabyte from what the host has, one megabyte of each really touched."""

import fcntl
import mmap
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fleetops.lab.driver import Entry, Ledger, current_guest
from fleetops.lab.engine.capacity import GB
from fleetops.lab.engine.places import Places

# The kernel starts to kill when a step would leave less than this.
FLOOR_BYTES = 9 * GB
# Below this, reclaim slows every allocation down, as it does on a real machine.
_SCARCE_BYTES = 40 * GB
_STEP_S, _SCARCE_STEP_S = 0.016, 0.35
_TOUCHED_BYTES_PER_GB = 10**6


class Exhausted(Exception):  # noqa: N818 (it is the state of the machine, not an error of the program)
    """The host has no memory left for another step."""


class HostMemory:
    """What a host has left. Made once by the launcher, before it forks: the ranks inherit the idle figure."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._ledger = Ledger(places.driver)
        self._guest = current_guest()
        self._idle_bytes = self._told_bytes() + self._taken_bytes()

    def available_bytes(self) -> int:
        """MemAvailable, without the delay of a meminfo that is only rewritten so often."""
        return min(self._told_bytes(), self._idle_bytes - self._taken_bytes())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One taker at a time, so that what a step is judged by is still true when it is taken."""
        with (self._places.driver / "host-memory.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _taken_bytes(self) -> int:
        return self._ledger.totals().host_bytes.get(self._guest, 0)

    def _told_bytes(self) -> int:
        match = re.search(r"MemAvailable:\s+(\d+) kB", self._places.meminfo.read_text())
        return int(match[1]) * 1024 if match else 0


class Pinned:
    """The pinned host memory of one process."""

    def __init__(self, host: HostMemory, entry: Entry, pace: float) -> None:
        self._host = host
        self._entry = entry
        self._pace = pace
        self._taken_bytes = 0
        self._touched: list[mmap.mmap] = []

    def take(self, size_bytes: int) -> None:
        """Take that much, in steps. Raises Exhausted at the step that the host cannot give any more."""
        left = size_bytes
        while left > 0:
            step = min(left, GB)
            time.sleep(self._step(step) * self._pace)
            left -= step

    def _step(self, step: int) -> float:
        """Take one step; the answer is how long it took a real machine, in seconds."""
        with self._host.alone():
            available = self._host.available_bytes()
            if available - step < FLOOR_BYTES:
                raise Exhausted
            self._taken_bytes += step
            self._entry.set(host_bytes=self._taken_bytes)
        self._touch(step * _TOUCHED_BYTES_PER_GB // GB)
        return _SCARCE_STEP_S if available < _SCARCE_BYTES else _STEP_S

    def _touch(self, size_bytes: int) -> None:
        area = mmap.mmap(-1, max(size_bytes, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for offset in range(0, len(area), mmap.PAGESIZE):
            area[offset] = 1
        self._touched.append(area)
