"""What /proc tells of processes that this benchmark started: their tree, memory, threads and CPU."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_NS = 1e-9


class Held(NamedTuple):
    """What a set of processes holds at one moment."""

    pss_bytes: int
    threads: int
    processes: int


def children(pid: int) -> list[int]:
    """The direct children, whichever thread started them; those that have ended and were not waited for as well."""
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, _read(listing).split())
    return found


def tree(pid: int) -> Iterator[int]:
    """The process and everything below it."""
    yield pid
    for child in children(pid):
        yield from tree(child)


def held(pids: Iterable[int]) -> Held:
    """Summed over these processes; one that has ended meanwhile counts for nothing.

    The proportional set size counts a page that several processes share once in all, which RSS does not.
    """
    pss = threads = processes = 0
    for pid in pids:
        own = _kib(_read(Path(f"/proc/{pid}/smaps_rollup")), "Pss:")
        if own:
            pss += own * 1024
            threads += _count(Path(f"/proc/{pid}/task"))
            processes += 1
    return Held(pss, threads, processes)


def waited_cpu_s(pid: int) -> float:
    """CPU of the children that a process has waited for, theirs included (proc(5): cutime, cstime)."""
    return sum(map(int, _stat(pid)[13:15])) * _TICK_S


def own_cpu_s(pid: int) -> float:
    """CPU of all threads of a process, in whole clock ticks (proc(5): utime, stime)."""
    return sum(map(int, _stat(pid)[11:13])) * _TICK_S


def main_thread_cpu_s(pid: int) -> float:
    """CPU of a process with one thread, to the nanosecond: an ssh client's share of one command is below a tick."""
    words = _read(Path(f"/proc/{pid}/schedstat")).split()
    return int(words[0]) * _NS if words else 0.0


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each; one that has ended already is left alone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may hold anything; zeros for a process that has ended."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["0"] * 50


def _kib(text: str, label: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(label)), 0)


def _count(folder: Path) -> int:
    try:
        return len(list(folder.iterdir()))
    except OSError:
        return 0


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
