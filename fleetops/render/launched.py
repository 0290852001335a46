"""A launch beside the last one: what the service can hold and do, each as measured or not recorded."""

from rich.text import Text

from fleetops.model.duration import show_delay, show_duration
from fleetops.model.load import Load
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.model.units import show_gb
from fleetops.render.table import columns

_NOT_RECORDED = "not recorded"


def launched(launch: LaunchRecord, previous: LaunchRecord | None) -> Text:
    """The table; rates stand beside each other only where they were measured with the same load."""
    now, then = launch.capacity, previous.capacity if previous else None
    rows = [
        ("", f"now, {launch.profile}", f"last, {previous.profile}" if previous else "no launch before"),
        ("ready in", _spoken(now.ready_s), _spoken(then.ready_s) if then else ""),
        ("device tokens", _count(now.device_tokens), _count(then.device_tokens) if then else ""),
        ("host tokens", _host(launch), _host(previous) if previous else ""),
        *_rates(now, then),
        *_host_memory(now, then),
        ("MemAvailable", _gb(now.available_after_bytes), _gb(then.available_after_bytes) if then else ""),
    ]
    table = columns(rows, right=(1, 2), styles={}, indent=2)
    return table.append(Text(f"\n  rates under {spoken_load(now.load)}", style="dim")) if now.load else table


def spoken_load(load: Load) -> str:
    """`8 streams, 24 requests, prompts of 32 tokens, answers of 64`."""
    streams, requests = _many(load.concurrency, "stream"), _many(load.requests, "request")
    return (
        f"{streams}, {requests}, prompts of {load.prompt_tokens:,} tokens, answers of {load.output_tokens:,}"
    )


def incomparable(now: Capacity, then: Capacity) -> str:
    """Why the rates of the two cannot be compared, in the settings of the second; "" where they can."""
    if now.load == then.load:
        return ""
    if then.load is None or now.load is None:
        return "not comparable (settings not recorded)"
    names = {"concurrency": "concurrency", "prompt_tokens": "prompts of", "output_tokens": "answers of"}
    differ = [
        f"{words} {getattr(then.load, name):,}"
        for name, words in {**names, "requests": "requests"}.items()
        if getattr(then.load, name) != getattr(now.load, name)
    ]
    return f"not comparable ({', '.join(differ)})"


def _rates(now: Capacity, then: Capacity | None) -> list[tuple[str, ...]]:
    """Tokens a second and, where they are recorded, both delays; why there is no comparison is said once."""
    why = incomparable(now, then) if then and then.tokens_per_s is not None else ""
    last = None if why else then
    rows: list[tuple[str, ...]] = [
        ("tokens/s", _count(now.tokens_per_s), why or (_count(then.tokens_per_s) if then else ""))
    ]
    first = [_delay(one.ttft_s, one.ttft_p99_s) if one else "" for one in (now, last)]
    between = [_delay(one.itl_s, one.itl_p99_s) if one else "" for one in (now, last)]
    for label, cells in (("first token", first), ("between tokens", between)):
        if any(cell not in {"", _NOT_RECORDED} for cell in cells):
            rows.append((label, *cells))
    return rows


def _host_memory(now: Capacity, then: Capacity | None) -> list[tuple[str, ...]]:
    """What each took beside what its flags asked for, where either is known."""
    cells = [_taken(one) if one else "" for one in (now, then)]
    return [("host memory", *cells)] if any(cell not in {"", _NOT_RECORDED} for cell in cells) else []


def _taken(capacity: Capacity) -> str:
    if capacity.host_taken_bytes is None:
        return _NOT_RECORDED
    asked = f", {show_gb(capacity.host_asked_bytes)} asked" if capacity.host_asked_bytes else ""
    return f"{show_gb(capacity.host_taken_bytes)} taken{asked}"


def _delay(median_s: float | None, p99_s: float | None) -> str:
    if median_s is None:
        return _NOT_RECORDED
    return show_delay(median_s) + (f" (p99 {show_delay(p99_s)})" if p99_s is not None else "")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("s" if count != 1 else "")


def _spoken(seconds: float | None) -> str:
    return _NOT_RECORDED if seconds is None else show_duration(seconds)


def _count(number: float | None) -> str:
    return _NOT_RECORDED if number is None else f"{number:,.0f}"


def _host(launch: LaunchRecord) -> str:
    tokens, ranks = launch.capacity.host_tokens, launch.capacity.ranks
    if tokens is None:
        return _NOT_RECORDED
    return f"{ranks} x {tokens:,}" if ranks and ranks > 1 else f"{tokens:,}"


def _gb(size_bytes: int | None) -> str:
    return _NOT_RECORDED if size_bytes is None else show_gb(size_bytes)
