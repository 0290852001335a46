"""What is remembered of launches, and what a run leaves behind."""

from dataclasses import asdict, dataclass, field, replace

from fleetops.model.load import Load
from fleetops.model.measure import Measurement


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a service can hold and do, as measured; None means not recorded.

    Attributes:
        device_tokens: GPU KV-cache pool of one rank or attention group; of an engine that counts so, of the whole server.
        host_tokens: host KV-cache pool, likewise.
        host_taken_bytes: how much less was available after the launch than right before it.
        host_asked_bytes: what its flags ask of the host, on the whole node; None where none does.
        tokens_per_s: output tokens a second, all streams together, under the load that the four settings say.
        ttft_s: time to the first token, the median request; `ttft_p99_s` that of the slowest in a hundred.
        itl_s: time from one token to the next, likewise.
        concurrency, prompt_tokens, output_tokens, requests: the load. None in old records, whose rate was measured
            otherwise.
    """

    device_tokens: int | None = None
    host_tokens: int | None = None
    host_pool_bytes: int | None = None
    ranks: int | None = None
    tokens_per_s: float | None = None
    ready_s: float | None = None
    available_after_bytes: int | None = None
    host_taken_bytes: int | None = None
    host_asked_bytes: int | None = None
    ttft_s: float | None = None
    ttft_p99_s: float | None = None
    itl_s: float | None = None
    itl_p99_s: float | None = None
    concurrency: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    requests: int | None = None

    @property
    def load(self) -> Load | None:
        """What the rates were measured with; None where that is not recorded."""
        found = (self.concurrency, self.prompt_tokens, self.output_tokens, self.requests)
        if any(each is None for each in found):
            return None
        concurrency, prompt, output, requests = (each or 0 for each in found)
        return Load(concurrency=concurrency, prompt_tokens=prompt, output_tokens=output, requests=requests)

    def with_rates(self, found: Measurement) -> "Capacity":
        """The same with the rates of a measurement."""
        first, between = found.first_token_s, found.between_tokens_s
        return replace(
            self,
            tokens_per_s=found.tokens_per_s,
            ttft_s=first.median if first else None,
            ttft_p99_s=first.p99 if first else None,
            itl_s=between.median if between else None,
            itl_p99_s=between.p99 if between else None,
            **asdict(found.load),
        )


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
        note: where the idle figure comes from, where that needs a word.
    """

    name: str
    fact: str
    before: str
    after: str
    idle: str
    ok: bool | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run as the journal tells it.

    `status`: done, failed, refused, interrupted, running, unfinished, or taken-over: it was interrupted or cut off, and a
    later one that went on from it (`continues`) has ended well.
    """

    run_id: str
    playbook: str
    node: str
    started_at: float
    ended_at: float | None
    status: str
    why: str = ""
    continues: str = ""


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
