"""What is remembered of launches, and what a run leaves behind."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a service can hold and do, as measured; None means not recorded.

    Attributes:
        device_tokens: GPU KV-cache pool of one rank or attention group.
        host_tokens: host KV-cache pool of one rank.
        tokens_per_s: output tokens a second over concurrent real generations.
    """

    device_tokens: int | None = None
    host_tokens: int | None = None
    host_pool_bytes: int | None = None
    ranks: int | None = None
    tokens_per_s: float | None = None
    ready_s: float | None = None
    available_after_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class LaunchRecord:
    """One launch that became ready."""

    node: str
    profile: str
    at: float
    run_id: str
    capacity: Capacity


@dataclass(frozen=True, kw_only=True)
class ReclaimRow:
    """One line of the before/after table: `ok` None means unknown, which is not ok.

    Attributes:
        name: what is compared (`MemAvailable`, `GPU memory`, ...).
        fact: the name under which a playbook's `until` asks for it.
    """

    name: str
    fact: str
    before: str
    after: str
    idle: str
    ok: bool | None


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run as the journal tells it. `status`: done, failed, refused, interrupted, running, unfinished."""

    run_id: str
    playbook: str
    node: str
    started_at: float
    ended_at: float | None
    status: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended, for the renderer."""

    run_id: str
    node: str
    status: str
    why: str = ""
    hint: str = ""
    guard: str = ""
    reclaimed: tuple[ReclaimRow, ...] = ()
    launched: LaunchRecord | None = None
    previous: LaunchRecord | None = None
    waived: dict[str, str] = field(default_factory=dict)
    evidence: str = ""
