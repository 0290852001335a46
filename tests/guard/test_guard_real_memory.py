"""The guard against real allocation: real pages in a real memory cgroup of this machine, at stated rates.

Sizes are a thousandth of a node's (limit 449 MB, floor 16 MB), rates as well, so the time that is left between the floor and
the end is a node's: 16 s at 1 GB/s, 3.2 s at 5, 0.8 s at 20. The last case takes memory as fast as this machine gives it,
at a real node's distance from the floor. What is asserted is that the limit was never reached.
"""

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from fleetops.steps.support.memory_guard.rooms import levels

MB, GB = 10**6, 10**9
# Takes real pages: $1 at once, then $2 bytes a second, each of $3 processes its part, in steps of about a millisecond.
TAKER = """
import mmap
def take(size):
    kept.append(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
kept, first, rate, processes, step = [], {first}, {rate}, {processes}, {step}
while not os.path.exists({go!r}):
    time.sleep(0.01)
take(first)
for _ in range(processes - 1):
    if os.fork() == 0:
        os.setsid()
        break
begun, taken = time.monotonic(), 0
while True:
    take(step)
    taken += step
    time.sleep(max(0.0, begun + taken * processes / rate - time.monotonic()))
"""


@pytest.fixture
def cgroup():
    """A memory cgroup below this process's own, and what removes it again."""
    own = levels(Path("/proc/self/cgroup").read_text(), "/sys/fs/cgroup")[0]
    folder = Path(own, f"fleetops-guard-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    if not (folder / "memory.limit_in_bytes").exists() and not (folder / "memory.max").exists():
        folder.rmdir()
        pytest.skip("this process's cgroup keeps no account of memory for those below it")
    yield folder
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            folder.rmdir()
        time.sleep(0.05)


def limit(folder, size_bytes):
    name = "memory.max" if (folder / "memory.max").exists() else "memory.limit_in_bytes"
    (folder / name).write_text(str(size_bytes))


def times_at_the_limit(folder):
    """How often the kernel had to refuse or reclaim because the limit was reached."""
    if (folder / "memory.failcnt").exists():
        return int((folder / "memory.failcnt").read_text())
    events = dict(line.split() for line in (folder / "memory.events").read_text().splitlines())
    return int(events["max"]) + int(events["oom_kill"])


@dataclass(frozen=True)
class Case:
    """A node's size, and who takes it how fast."""

    limit: int
    floor: int
    first: int
    rate: int
    processes: int
    step: int


CASES = {
    "1 GB/s": Case(449 * MB, 16 * MB, 426 * MB, 1 * MB, 1, 8192),
    "5 GB/s by 8 ranks": Case(449 * MB, 16 * MB, 408 * MB, 5 * MB, 8, 8192),
    "20 GB/s by 8 ranks": Case(449 * MB, 16 * MB, 380 * MB, 20 * MB, 8, 8192),
    "as fast as it goes": Case(3 * GB, 1 * GB, 1 * GB, 1000 * GB, 2, 16 << 20),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_limit_is_never_reached(watched, cgroup, case):
    limit(cgroup, case.limit)
    go = watched.folder / "go"
    # MemAvailable stays plenty: what counts here is the cgroup, which the guard finds by the service's own process.
    guard = watched.guard(floor_bytes=case.floor, cgroup="/sys/fs/cgroup", hurry=2)
    taking = {**asdict(case), "go": str(go)}
    join = f"import os; open({str(cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
    service = watched.service(TAKER.format(**taking), before=join)
    go.touch()
    assert service.wait(30) == -signal.SIGKILL
    assert guard.wait(30) == 0
    killed, lowest = watched.state["killed"], watched.state["lowest_bytes"]
    assert times_at_the_limit(cgroup) == 0
    assert lowest > 0
    assert killed["left"] == 0
    assert (cgroup / "cgroup.procs").read_text() == ""
    print(
        f"floor {case.floor / MB:,.0f} MB, lowest {lowest / MB:,.1f} MB, {killed['processes']} processes gone in"
        f" {killed['gone_s'] * 1000:.0f} ms, longest gap {watched.state['longest_gap_s'] * 1000:.0f} ms"
    )
