"""What is read from a host's kernel: identity, memory, processes, sockets, shared memory."""

from dataclasses import dataclass
from enum import StrEnum

from fleetops.model.fact import Key

# USER_HZ, in which /proc counts start times: fixed in the kernel's interface on every platform that has GPUs.
TICKS_PER_S = 100


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Which machine answered, and since when it runs.

    Attributes:
        machine_id: empty where the host has none.
        uptime_s: of the machine; of a container with lxcfs since its own start.
        kernel_uptime_s: since its kernel's boot, which is what processes' start times count from; None where not told.
    """

    hostname: str
    machine_id: str
    boot_id: str
    uptime_s: float
    kernel_uptime_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Memory:
    """`/proc/meminfo`. In a container this is lxcfs's view of it."""

    total_bytes: int
    available_bytes: int
    free_bytes: int
    shmem_bytes: int
    swap_total_bytes: int = 0
    swap_free_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class CgroupMemory:
    """The memory cgroup that bounds what the host's processes may take. `limit_bytes` None: no limit."""

    version: int
    limit_bytes: int | None
    current_bytes: int
    shmem_bytes: int = 0
    inactive_file_bytes: int = 0
    oom_kills: int = 0

    @property
    def room_bytes(self) -> int | None:
        """What may still be taken before the limit; file pages that can be dropped count as room, shm does not."""
        if self.limit_bytes is None:
            return None
        return max(0, self.limit_bytes - self.current_bytes + self.inactive_file_bytes)


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A thread of a process, kept only where it says more than its process does."""

    tid: int
    state: str
    rss_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process, from /proc.

    Attributes:
        state: the kernel's letter (R, S, D, Z, T, ...).
        start_ticks: start time in clock ticks since boot; with the pid it names a process for ever.
        comm: the kernel's name, cut to 15 bytes; all that is left of a zombie.
        cmdline: the argv; empty for a zombie and for kernel threads.
        cgroup: path in the unified or the memory hierarchy, as this host sees it.
        rss_bytes: resident memory; 0 for a zombie, also one whose threads still hold memory.
        pss_bytes: proportional share; None where it was not asked for or could not be read.
        live_threads: the threads of a zombie leader that still live; they hold its memory, files and ports.
    """

    pid: int
    ppid: int
    pgid: int
    sid: int
    state: str
    threads: int
    comm: str
    start_ticks: int
    cmdline: tuple[str, ...] = ()
    cgroup: str = ""
    rss_bytes: int = 0
    pss_bytes: int | None = None
    live_threads: tuple[Thread, ...] = ()

    def age_s(self, on: Identity) -> float:
        """Seconds since its start on that machine; in a container the machine's own uptime is no measure of it."""
        now_s = on.uptime_s if on.kernel_uptime_s is None else on.kernel_uptime_s
        return max(0.0, now_s - self.start_ticks / TICKS_PER_S)

    @property
    def is_zombie(self) -> bool:
        """Dead and not reaped; may still be a leader with live threads."""
        return self.state == "Z"

    @property
    def is_ghost_leader(self) -> bool:
        """A zombie leader whose threads live: ps shows it defunct with RSS 0, yet it holds memory, files and ports."""
        return self.is_zombie and (bool(self.live_threads) or self.threads > 1)

    @property
    def is_alive(self) -> bool:
        """It still holds something: running, sleeping, in D, or a zombie leader with live threads."""
        return not self.is_zombie or self.is_ghost_leader

    @property
    def title(self) -> str:
        """The command line, or the bracketed name of what has none, on one line whatever the process calls itself."""
        title = " ".join(self.cmdline) if self.cmdline else f"[{self.comm}]"
        return " ".join(title.split("\n"))


@dataclass(frozen=True, kw_only=True)
class Listener:
    """A listening TCP socket. `owners` is empty where no process visible here holds it."""

    port: int
    address: str
    inode: int
    owners: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Holder:
    """An open device file: who has it. `tid` is the thread through which it was found (the pid itself, mostly)."""

    pid: int
    tid: int
    path: str


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A shared-memory segment: a file of /dev/shm, or a SysV segment.

    Attributes:
        name: the path, or `sysv:ID`.
        kind: `posix` or `sysv`.
        creator_pid: from SysV's own record or from the file's name; None where neither says.
        mappers: processes that have it mapped or open.
        age_s: seconds since it was last written or attached.
    """

    name: str
    kind: str
    size_bytes: int
    creator_pid: int | None
    mappers: tuple[int, ...] = ()
    age_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Clock:
    """What time a host believes it is, in seconds since the epoch."""

    epoch_s: float


@dataclass(frozen=True, kw_only=True)
class Answered:
    """How long a host took to answer all that it was asked: from `Facts.at` on, connecting included."""

    seconds: float


class PortAnswer(StrEnum):
    """What a host's SSH port said to somebody who tried it from elsewhere."""

    BANNER = "banner"
    SILENT = "silent"
    NO_ANSWER = "no-answer"
    REFUSED = "refused"
    CLOSED = "closed"


IDENTITY: Key[Identity] = Key("identity")
SSH_ANSWER: Key[PortAnswer] = Key("ssh-answer")
MEMORY: Key[Memory] = Key("memory")
CGROUP: Key[CgroupMemory] = Key("cgroup")
PROCESSES: Key[tuple[Process, ...]] = Key("processes")
LISTENERS: Key[tuple[Listener, ...]] = Key("listeners")
HOLDERS: Key[tuple[Holder, ...]] = Key("holders")
SEGMENTS: Key[tuple[Segment, ...]] = Key("segments")
CLOCK: Key[Clock] = Key("clock")
ANSWERED: Key[Answered] = Key("answered")
FAILED_UNITS: Key[tuple[str, ...]] = Key("failed-units")
