"""The kernel's log of a lab's hypervisor or node, shared by its containers as the real one is. Standard library only.

Who asks for it sees only what the lab's own hosts did; the machine's kernel log stays the machine's.
"""

import fcntl
import os
import time
from pathlib import Path

_NAME = "kmsg"


def log_kernel(driver: Path, *lines: str) -> None:
    """Add lines, with the seconds since the machine's boot as the kernel counts them."""
    stamp = time.clock_gettime(time.CLOCK_BOOTTIME)
    text = "".join(f"{stamp + number / 1e6:.6f} {line}\n" for number, line in enumerate(lines))
    descriptor = os.open(driver / _NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def kernel_lines(driver: Path) -> list[tuple[float, str]]:
    """Everything logged so far: seconds since boot, text."""
    path = driver / _NAME
    if not path.exists():
        return []
    pairs = (line.partition(" ") for line in path.read_text().splitlines())
    return [(float(stamp), text) for stamp, _, text in pairs]


def clear_log(driver: Path) -> None:
    """As a kernel that boots begins a new one."""
    (driver / _NAME).unlink(missing_ok=True)


def out_of_memory(pid: int, comm: str, resident_kb: int) -> tuple[str, ...]:
    """What the kernel says when it kills for want of memory (its mm/oom_kill.c, and the recorded samples)."""
    where = "constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/"
    figures = f"total-vm:{resident_kb * 4}kB, anon-rss:{resident_kb}kB, file-rss:0kB, shmem-rss:0kB, UID:0"
    return (
        f"{comm} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        f"oom-kill:{where},task={comm},pid={pid},uid=0",
        f"Out of memory: Killed process {pid} ({comm}) {figures} pgtables:{resident_kb // 512}kB oom_score_adj:0",
    )
