"""The kernel's log of a lab's hypervisor or node, shared by its containers as the real one is. Standard library only.

Who asks for it sees only what the lab's own hosts did; the machine's kernel log stays the machine's. Each line is kept
with whom it is about (a container's id, or `host`), which nobody is shown: whoever clears a guest takes its lines away.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = "kmsg"


def log_kernel(driver: Path, *lines: str, about: str = "host") -> None:
    """Add lines, with the seconds since the machine's boot as the kernel counts them."""
    stamp = time.clock_gettime(time.CLOCK_BOOTTIME)
    text = "".join(f"{stamp + number / 1e6:.6f} {about} {line}\n" for number, line in enumerate(lines))
    with _held(driver) as descriptor:
        os.write(descriptor, text.encode())


def forget_lines(driver: Path, about: str) -> list[str]:
    """Take away all that is about a guest, or about the host itself; the texts that were there."""
    path = driver / _NAME
    if not path.exists():
        return []
    with _held(driver) as descriptor:
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if line.split(" ", 2)[1] != about]
        os.truncate(descriptor, 0)
        os.write(descriptor, "".join(kept).encode())
    return [line.split(" ", 2)[2].rstrip("\n") for line in lines if line not in kept]


@contextlib.contextmanager
def _held(driver: Path) -> Iterator[int]:
    """The log's descriptor, for one writer at a time."""
    descriptor = os.open(driver / _NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def kernel_lines(driver: Path) -> list[tuple[float, str]]:
    """Everything logged so far: seconds since boot, text."""
    path = driver / _NAME
    if not path.exists():
        return []
    told = (line.split(" ", 2) for line in path.read_text().splitlines())
    return [(float(stamp), text) for stamp, _, text in told]


def clear_log(driver: Path) -> None:
    """As a kernel that boots begins a new one."""
    (driver / _NAME).unlink(missing_ok=True)


def out_of_memory(
    pid: int, comm: str, resident_kb: int, *, guest: str = "host", at_limit: bool = False
) -> tuple[str, ...]:
    """What the kernel says when it kills for want of memory (its mm/oom_kill.c, and the recorded samples).

    guest: the container that the process is in. at_limit: that was at its own limit, not the machine out of memory.
    """
    cgroup = "/" if guest == "host" else f"/lxc/{guest}/ns"
    why = f"oom_memcg=/lxc/{guest}" if at_limit else "global_oom"
    kind = "MEMCG" if at_limit else "NONE"
    where = (
        f"constraint=CONSTRAINT_{kind},nodemask=(null),cpuset=/,mems_allowed=0-1,{why},task_memcg={cgroup}"
    )
    figures = f"total-vm:{resident_kb * 4}kB, anon-rss:{resident_kb}kB, file-rss:0kB, shmem-rss:0kB, UID:0"
    return (
        f"{comm} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        f"oom-kill:{where},task={comm},pid={pid},uid=0",
        f"{'Memory cgroup out' if at_limit else 'Out'} of memory: Killed process {pid} ({comm}) {figures} pgtables:{resident_kb // 512}kB oom_score_adj:0",
    )
