"""The memory guard of a service: what it watches, whether it may kill, and what it has done."""

from dataclasses import dataclass

from fleetops.model.fact import Key

ARMED, REPORTING, KILLED = "armed", "reporting", "killed"


@dataclass(frozen=True, kw_only=True)
class GuardKill:
    """How a guard has ended its service.

    Attributes:
        after_s: seconds since the service was started.
        bound: what ran out (`MemAvailable`, or the room in a cgroup).
        room_bytes: what was left of it then; room_after_bytes once its processes were gone, None until that is known.
        processes: how many were ended; left: how many were still there when it was written down.
        gone_s: seconds from the first signal until none was left, None while some are.
        what: `PID NAME` of those that were ended, the first hundred.
    """

    after_s: float
    bound: str
    room_bytes: int
    room_after_bytes: int | None
    processes: int
    left: int
    gone_s: float | None
    what: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MemoryGuard:
    """One guard, as its state file on the node says.

    Attributes:
        alive: its process is there: pid and start time agree.
        mode: `armed`, `reporting` or `killed`.
        floor_bytes: below this an armed guard ends the service.
        lowest_bytes: the least room it has seen, and of what (`lowest_bound`).
        looks: how often it has looked; longest_gap_s: the longest time between two looks while it was armed.
        locked: it is locked in memory.
        notes: what it could not do for its own safety, and why.
        service: pid and start time of what it watches over; None while it knows none.
        ended: why it is over, "" while it is not.
    """

    run_id: str
    profile: str
    pid: int
    start_ticks: int
    alive: bool
    mode: str
    floor_bytes: int
    lowest_bytes: int
    lowest_bound: str
    looks: int
    longest_gap_s: float
    locked: bool
    notes: tuple[str, ...] = ()
    service: tuple[int, int] | None = None
    killed: GuardKill | None = None
    ended: str = ""

    @property
    def armed(self) -> bool:
        """It is there, and may kill."""
        return self.alive and self.mode == ARMED


MEMORY_GUARDS: Key[tuple[MemoryGuard, ...]] = Key("memory-guards")
