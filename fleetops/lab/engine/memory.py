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
# While there is plenty, time passes as in the rest of the stand-in's start: a fiftieth of a real one's, times the pace.
_PLENTY_STEP_S = 0.016
# Where memory is scarce a real machine's time counts, whatever the pace: the less is left, the longer reclaim takes. Eight
# ranks together take 24 GB/s when 24 GB are left, 16 when 16 are, 9 at the end: what a guard has to win against.
_SCARCE_BYTES = 24 * GB
_SCARCE_S = 8.0
_STEPS_PER_GB = 4
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
        left, step = size_bytes, GB
        while left > 0:
            amount = min(left, step)
            available = self._step(amount)
            left -= amount
            if available >= _SCARCE_BYTES:
                time.sleep(_PLENTY_STEP_S * self._pace * amount / GB)
            else:
                time.sleep(_SCARCE_S * amount / available)
                step = GB // _STEPS_PER_GB

    def _step(self, step: int) -> int:
        """Take one step; the answer is what was available before it."""
        with self._host.alone():
            available = self._host.available_bytes()
            if available - step < FLOOR_BYTES:
                raise Exhausted
            self._taken_bytes += step
            self._entry.set(host_bytes=self._taken_bytes)
        self._touch(step * _TOUCHED_BYTES_PER_GB // GB)
        return available

    def _touch(self, size_bytes: int) -> None:
        area = mmap.mmap(-1, max(size_bytes, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for offset in range(0, len(area), mmap.PAGESIZE):
            area[offset] = 1
        self._touched.append(area)
