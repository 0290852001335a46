"""Record what the service can hold and do, beside the last good launch."""

from collections.abc import Callable

from fleetops.engines import Engine, PoolSizes, engine
from fleetops.model.engine import LogReport
from fleetops.model.machine import MEMORY
from fleetops.model.measure import Measurement
from fleetops.model.plan import PlannedStep
from fleetops.model.record import Capacity
from fleetops.model.units import show_gb
from fleetops.ssh.http import whole
from fleetops.steps.support.asking import Asking
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.launching import Started, budget_for, profile_of
from fleetops.steps.support.serving import asking


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """Only reads."""
    return PlannedStep(
        step="record-launch",
        title="record capacity",
        host=situation.node_name,
        detail="device and host tokens, rates and delays, memory after load",
    )


def run(desk: Desk, _options: Options) -> str:
    """Tokens as the service itself tells them, else as its log does; each as measured, or not recorded."""
    profile = profile_of(desk.situation)
    of = engine(profile.engine)
    report: LogReport = desk.memo["log_report"]
    pools = _pools(desk, of, asking(desk, profile))
    started: Started = desk.memo["started"]
    asked_bytes = budget_for(desk.situation).asked_bytes or None
    memory = desk.look().observation.node_facts.value(MEMORY)
    after = memory.available_bytes if memory else None
    capacity = Capacity(
        device_tokens=_smallest(pools, "device_tokens") or report.device_tokens,
        host_tokens=_smallest(pools, "host_tokens") or report.host_tokens,
        host_pool_bytes=sum(report.host_pool_bytes) or None,
        ranks=profile.ranks,
        ready_s=desk.memo["ready_s"],
        available_after_bytes=after,
        host_taken_bytes=None
        if after is None or started.available_bytes is None
        else started.available_bytes - after,
        host_asked_bytes=asked_bytes,
    )
    measurement: Measurement | None = desk.memo["measurement"]
    if measurement:
        capacity = capacity.with_rates(measurement)
    desk.record_launch(capacity)
    rate = f", {capacity.tokens_per_s:,.0f} tokens/s" if capacity.tokens_per_s else ""
    whose = "a rank" if of.pools_of == "per-rank" else "of the whole server"
    return f"{tokens_held(capacity, whose)}{_host_memory(capacity)}{rate}"


def tokens_held(capacity: Capacity, whose: str) -> str:
    """Device and host tokens, and whose they are where there are any."""
    device, host = _shown(capacity.device_tokens), _shown(capacity.host_tokens)
    if capacity.host_tokens is None:
        return f"device tokens {device}{'' if capacity.device_tokens is None else f' {whose}'}, host tokens {host}"
    return f"device tokens {device}, host tokens {host} {whose}"


def _host_memory(capacity: Capacity) -> str:
    """What it took beside what was asked: an engine may take more than its flag says (vllm issue 53042)."""
    if capacity.host_taken_bytes is None:
        return ""
    asked = f" where {show_gb(capacity.host_asked_bytes)} was asked" if capacity.host_asked_bytes else ""
    return f", {show_gb(capacity.host_taken_bytes)} of host memory taken{asked}"


def _pools(desk: Desk, of: Engine, service: Asking) -> tuple[PoolSizes, ...]:
    """What the service itself says of its pools; nothing where it does not say."""
    for path, parse in ((of.metrics_path, _metrics(of)), *((path, of.parse_info) for path in of.info_paths)):
        try:
            with service.open("GET", path, None, headers=service.headers, deadline_s=10.0) as answer:
                pools = parse(whole(answer).body) if answer.status == 200 else ()
        except (OSError, ValueError) as error:
            desk.tell(f"{path}: {error}")
            continue
        if any(pool.device_tokens or pool.host_tokens for pool in pools):
            return pools
    return ()


def _metrics(of: Engine) -> Callable[[bytes], tuple[PoolSizes, ...]]:
    return lambda body: of.parse_metrics(body.decode("utf-8", "replace"))


def _smallest(pools: tuple[PoolSizes, ...], name: str) -> int | None:
    """The rank, or data-parallel group, that can hold least decides."""
    return min((size for pool in pools if (size := getattr(pool, name))), default=None)


def _shown(tokens: int | None) -> str:
    return f"{tokens:,}" if tokens is not None else "not recorded"


STEP = Step(
    name="record-launch",
    summary="record device and host tokens, rates, delays and memory after load, beside the last launch",
    plan=plan,
    run=run,
    relaunches=True,
    needs=("await-ready",),
)
