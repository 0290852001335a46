"""A host's memory figures as its kernel would show them. Standard library only; `meminfo` and `cgroup` are pure.

What the driver has pinned for a process is missing from MemAvailable and shows nowhere else: not in a process,
not in the cgroup (facts: recovery, part B). Shared memory is real: what lies in the host's /dev/shm.
"""

from dataclasses import dataclass

GB = 10**9
_CACHE_BYTES = 3 * GB


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """A host's memory: its size, what is available when idle, and what is taken now (all in bytes)."""

    total: int
    idle: int
    pinned: int = 0
    shared: int = 0

    @property
    def available(self) -> int:
        """MemAvailable."""
        return max(0, self.idle - self.pinned - self.shared)


def meminfo(use: MemoryUse) -> str:
    """/proc/meminfo. Always of the same length, so that it can be rewritten in place."""
    cache = min(_CACHE_BYTES, use.available)
    free = use.available - cache
    own = use.total - use.idle
    lines = {
        "MemTotal": use.total,
        "MemFree": free,
        "MemAvailable": use.available,
        "Buffers": 0,
        "Cached": cache + use.shared,
        "SwapCached": 0,
        "Active": own // 2,
        "Inactive": cache + own // 4,
        "Active(anon)": own // 2,
        "Inactive(anon)": use.shared,
        "Active(file)": cache // 3,
        "Inactive(file)": cache - cache // 3,
        "Unevictable": 0,
        "Mlocked": 0,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 0,
        "Writeback": 0,
        "AnonPages": own // 2,
        "Mapped": own // 8,
        "Shmem": use.shared,
        "Slab": own // 8,
        "SReclaimable": own // 16,
        "SUnreclaim": own // 16,
    }
    return "".join(f"{name + ':':<16}{size // 1024:>12} kB\n" for name, size in lines.items())


def cgroup(use: MemoryUse, *, limited: bool) -> dict[str, str]:
    """The memory files of a cgroup v2: name -> text. Pinned memory is not charged to it."""
    anonymous = (use.total - use.idle) // 2
    cache = min(_CACHE_BYTES, use.available)
    limit = use.total // 2**20 * 2**20
    return {
        "cgroup.controllers": "cpuset cpu io memory pids\n",
        "memory.max": f"{limit}\n" if limited else "max\n",
        "memory.high": f"{limit - 128 * 2**20}\n" if limited else "max\n",
        "memory.current": f"{anonymous + cache + use.shared}\n",
        "memory.swap.max": "0\n" if limited else "max\n",
        "memory.swap.current": "0\n",
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
        "memory.stat": (
            f"anon {anonymous}\nfile {cache + use.shared}\nkernel 0\nshmem {use.shared}\n"
            f"inactive_anon {use.shared}\nactive_anon {anonymous}\ninactive_file {cache - cache // 3}\n"
            f"active_file {cache // 3}\nunevictable 0\nslab_reclaimable 0\nslab_unreclaimable 0\n"
        ),
    }
