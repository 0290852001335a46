"""What one node said when it was probed: its facts, what they add up to, and what the checks make of them."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from fleetops.model.finding import Finding, Observation
from fleetops.model.fleet import Node
from fleetops.model.machine import Process
from fleetops.model.supervisor import Supervisor


class Verdict(Enum):
    """The one word for a node."""

    SERVING = "serving"
    STARTING = "starting"
    SILENT = "not answering"
    WEDGED = "wedged"
    GPU_LOST = "GPU lost"
    ANOTHER = "another machine answers"
    UNCLEAN = "not clean"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class MemoryHolder:
    """A process and the memory that is its own: PSS where that was read, else RSS."""

    process: Process
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """Where a node's host memory is.

    Attributes:
        processes_bytes: the sum over its processes: PSS where it was read, else RSS (which counts shared pages twice).
        shared_bytes: shared memory and tmpfs files, mapped or not (`Shmem`).
        idle_bytes: what is gone on the idle node already (kernel, caches that cannot be dropped); 0 where not known.
        unexplained_bytes: gone, and neither in a process, nor shared memory, nor idle use: what a driver pinned
            or allocated shows up nowhere else (facts/recovery.md, B).
        room_bytes: what the memory cgroup still allows; None where it sets no limit or could not be read.
        oom_kills: how many processes of that cgroup the kernel's OOM killer has ended since it was made.
        largest: the processes that hold most, largest first.
    """

    total_bytes: int
    available_bytes: int
    processes_bytes: int | None = None
    shared_bytes: int = 0
    idle_bytes: int = 0
    unexplained_bytes: int | None = None
    room_bytes: int | None = None
    oom_kills: int = 0
    largest: tuple[MemoryHolder, ...] = ()

    @property
    def gone_bytes(self) -> int:
        """What is not available of the total."""
        return self.total_bytes - self.available_bytes


HolderKind = Literal[
    "live rank", "launcher", "other engine process", "zombie leader", "rank in D", "driver daemon", "process"
]


@dataclass(frozen=True, kw_only=True)
class GpuHolder:
    """A process that has GPU device files open, and what it is to the service."""

    kind: HolderKind
    process: Process | None
    pid: int


@dataclass(frozen=True, kw_only=True)
class GpuUse:
    """What a node's GPUs hold, and for whom.

    Attributes:
        expected: how many the inventory says; None where it does not.
        held_bytes: used beyond the idle baseline, over all GPUs; use below the noise threshold counts as idle.
        holding: the indices of the GPUs that hold memory.
        ownerless: those of them that no process but the driver's own daemons has open; empty where that is not known.
        holders: processes with GPU device files open; None where that could not be read.
        actions: the driver's recovery action -> indices, for those that ask for one.
        failing: index -> field and failure text, for GPUs that report one.
        lost: how many the driver cannot reach.
        unread: nothing tells what is held, because no GPU was reported, or the memory of one could not be read.
    """

    expected: int | None
    seen: int
    total_bytes: int
    held_bytes: int
    holding: tuple[int, ...] = ()
    ownerless: tuple[int, ...] = ()
    holders: tuple[GpuHolder, ...] | None = None
    actions: dict[str, tuple[int, ...]] = field(default_factory=dict)
    failing: dict[int, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    lost: int = 0
    unread: bool = False


@dataclass(frozen=True, kw_only=True)
class RankUse:
    """The service's processes by what is left of them.

    Attributes:
        zombies: dead, not reaped, holding nothing.
        ghosts: zombie leaders whose threads live, and hold their memory, files and ports.
        stuck: in uninterruptible sleep; SIGKILL is queued until the kernel lets them go.
        negligent: the parents that do not reap the zombies.
    """

    expected: int | None = None
    live: tuple[Process, ...] = ()
    zombies: tuple[Process, ...] = ()
    ghosts: tuple[Process, ...] = ()
    stuck: tuple[Process, ...] = ()
    negligent: tuple[Process, ...] = ()

    @property
    def dead(self) -> int:
        """How many will never work again."""
        return len(self.zombies) + len(self.ghosts)


@dataclass(frozen=True, kw_only=True)
class PortUse:
    """The service's port.

    Attributes:
        listens: None where the listening sockets could not be read.
        owners: the processes that hold the socket, as far as they can be seen.
        answers: whether its readiness endpoint said yes; None where it was not asked or gave no verdict.
        answer: the same in words.
        silent: it was asked and said nothing in time: the service is very busy, or it hangs.
    """

    port: int
    listens: bool | None
    owners: tuple[Process, ...] = ()
    answer: str = ""
    answers: bool | None = None
    silent: bool = False


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Shared-memory segments whose creator is dead and that nobody has mapped."""

    count: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a node's facts add up to. A part is None where its facts are missing.

    Attributes:
        supervisors: what starts the service again, or waits to, outermost first; none where that could not be read.
    """

    verdict: Verdict
    memory: MemoryUse | None = None
    gpus: GpuUse | None = None
    ranks: RankUse | None = None
    port: PortUse | None = None
    leftovers: Leftovers | None = None
    supervisors: tuple[Supervisor, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """One node's probe. Without an observation, `error` and `hint` say why there is none.

    Attributes:
        engine_title: the engine's name as its makers write it.
    """

    node: Node
    observation: Observation | None = None
    summary: Summary = Summary(verdict=Verdict.UNKNOWN)
    findings: tuple[Finding, ...] = ()
    engine_title: str = ""
    error: str = ""
    hint: str = ""
