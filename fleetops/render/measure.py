"""What a measurement looks like: how far it is while it runs, and its figures."""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fleetops.model.duration import show_delay, show_duration
from fleetops.model.load import Load, Others, Tally, Target
from fleetops.model.measure import Lengths, Measurement, Spread
from fleetops.render.launched import spoken_load
from fleetops.render.output import Output
from fleetops.render.plain import safe
from fleetops.render.rows import opposite
from fleetops.render.table import columns

_RATE_OVER_S = 3.0
_BAR = 24
_WORTH_SAYING_S = 0.005


class MeasureScreen(AbstractContextManager["MeasureScreen"]):
    """On a terminal, one line that moves while `tally` is asked; gone when it is over, never there when piped."""

    def __init__(self, output: Output, tally: Callable[[], Tally]) -> None:
        self._tally = tally
        self._seen: deque[Tally] = deque()
        console = output.err
        self._live = (
            Live(console=console, get_renderable=self._line, refresh_per_second=8, transient=True)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def _line(self) -> Table:
        now = self._tally()
        self._seen.append(now)
        while now.at - self._seen[0].at > _RATE_OVER_S:
            self._seen.popleft()
        done = now.answered + now.failed
        line = Table.grid(padding=(0, 3, 0, 0))
        each = now.load.output_tokens
        bar = ProgressBar(total=now.load.requests * each, completed=max(now.tokens, done * each), width=_BAR)
        line.add_row("  measuring", bar, *(Text(word) for word in self._words(now, done)))
        return line

    def _words(self, now: Tally, done: int) -> list[str]:
        if not now.begun:
            return ["warming up"]
        words = [f"{done} of {now.load.requests} requests", f"{now.begun - done} under way"]
        first = self._seen[0]
        if now.at - first.at > _RATE_OVER_S / 3:
            words.append(f"about {(now.tokens - first.tokens) / (now.at - first.at):,.0f} tokens/s")
        return [*words, f"{now.failed} failed"] if now.failed else words


def announcement(target: Target, load: Load, seed: int) -> str:
    """What is about to be done to the service, in a line, and who else will feel it."""
    line = f"load on {target.node}, port {target.port}: {spoken_load(load)} (seed {seed})"
    return f"{line}; {_served(target.others)}" if target.others and _is_busy(target.others) else line


def measure_screen(target: Target, found: Measurement, width: int) -> Text:
    """The figures for a person."""
    name = f"{target.title} {target.version}".rstrip()
    head = Text.assemble((safe(target.node), "bold"), f"   {safe(name)}, {safe(target.model)}")
    lines = [opposite(head, spoken_load(found.load), width), Text(), _figures(found)]
    if found.errors:
        lines += [Text(), _errors(found)]
    notes = _notes(target, found)
    if notes:
        lines += [Text(), *(Text(f"  {note}", style="dim") for note in notes)]
    return Text("\n").join(lines)


def _figures(found: Measurement) -> Text:
    first, between = found.first_token_s, found.between_tokens_s
    answered = f"{len(found.whole)} of {found.load.requests}"
    rows = [
        ("output", _rate(found.tokens_per_s), _over(found) if found.tokens_per_s is not None else ""),
        ("one stream", _rate(found.tokens_per_s_per_stream), "once its first token is there"),
        ("first token", _median(first), _p99(first)),
        ("between tokens", _median(between), _p99(between)),
        ("prompts", *_tokens(found.prompt_lengths)),
        ("answers", *_tokens(found.output_lengths)),
        ("requests", answered, f"answered, in {_seconds(found.wall_s)}"),
    ]
    shown = [row for row in rows if row[1]]
    return columns(shown, right=(1,), indent=2)


def _errors(found: Measurement) -> Text:
    """Every request that came to nothing is counted under what became of it."""
    rows = [(f"{one.count:,}", one.kind.value.replace("-", " "), one.message) for one in found.errors]
    styles = {word: "red" for _, word, _ in rows}
    return columns([("failed", "", ""), *rows], right=(0,), styles=styles, indent=2)


def _notes(target: Target, found: Measurement) -> list[str]:
    """What has to be known to read the figures rightly."""
    notes = []
    if found.interrupted:
        notes.append(
            "interrupted: these are the figures so far"
            if found.whole
            else "interrupted before any request had ended: there are no figures yet"
        )
    if target.others and _is_busy(target.others):
        notes.append(f"{_served(target.others)}: both shared the service")
    if found.output_lengths and found.output_lengths.shortest < found.load.output_tokens:
        notes.append(
            f"answers ended before {found.load.output_tokens:,} tokens: the service does not go on for longer"
        )
    if found.cached_tokens:
        notes.append(f"{found.cached_tokens:,} prompt tokens came from the service's prefix cache")
    if found.not_streamed:
        notes.append(f"{found.not_streamed} answers came in one piece: they have no time to the first token")
    if found.tokens_per_event > 1.05:
        notes.append(
            f"{found.tokens_per_event:.1f} tokens came at once on average: the time between them is that of the "
            "events, divided"
        )
    if found.way_s > _WORTH_SAYING_S:
        notes.append(
            f"the first token's time includes the way to the node and back, {show_delay(found.way_s)}"
        )
    if found.was_held_back:
        notes.append(
            f"{found.bunched:.0%} of the tokens arrived together with the one before: the figures may be the limit of "
            "this machine or of the way to the node, not the service's"
        )
    return notes


def measure_json(target: Target, found: Measurement) -> dict[str, Any]:
    """`fleetops.measure/1`."""
    return {
        "schema": "fleetops.measure/1",
        "node": target.node,
        "port": target.port,
        "engine": target.engine,
        "version": target.version,
        "model": target.model,
        "concurrency": found.load.concurrency,
        "prompt_tokens": found.load.prompt_tokens,
        "output_tokens": found.load.output_tokens,
        "requests": found.load.requests,
        "seed": found.seed,
        "completed": len(found.whole),
        "interrupted": found.interrupted,
        "errors": [
            {"kind": one.kind.value, "count": one.count, "message": one.message} for one in found.errors
        ],
        "output_tokens_per_s": found.tokens_per_s,
        "output_tokens_per_s_per_stream": found.tokens_per_s_per_stream,
        "ttft_s": _spread(found.first_token_s),
        "itl_s": _spread(found.between_tokens_s),
        "wall_s": found.wall_s,
        "steady_s": found.steady.length_s if found.steady else None,
        "prompt_tokens_used": _lengths(found.prompt_lengths),
        "prompt_tokens_cached": found.cached_tokens,
        "output_tokens_got": _lengths(found.output_lengths),
        "tokens_per_event": found.tokens_per_event or None,
        "not_streamed": found.not_streamed,
        "way_s": found.way_s,
        "bunched": found.bunched,
        "held_back": found.was_held_back,
        "others": {"running": target.others.running, "waiting": target.others.waiting}
        if target.others
        else None,
    }


def _over(found: Measurement) -> str:
    if found.steady:
        return f"all streams together, over {_seconds(found.steady.length_s)} of steady state"
    return f"all streams together, over the whole run of {_seconds(found.wall_s)}: there was no steady state"


def _rate(per_s: float | None) -> str:
    if per_s is None:
        return ""
    return f"{per_s:,.0f} tokens/s" if per_s >= 10 else f"{per_s:.1f} tokens/s"


def _median(spread: Spread | None) -> str:
    return show_delay(spread.median) if spread else ""


def _p99(spread: Spread | None) -> str:
    return f"median; p99 {show_delay(spread.p99)}" if spread else ""


def _tokens(lengths: Lengths | None) -> tuple[str, str]:
    if lengths is None:
        return "", ""
    if lengths.shortest == lengths.longest:
        return f"{lengths.longest:,} token{'s' if lengths.longest != 1 else ''}", ""
    return f"{lengths.median:,.0f} tokens", f"median; {lengths.shortest:,} to {lengths.longest:,}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else show_duration(seconds)


def _is_busy(others: Others) -> bool:
    return bool(others.running or others.waiting)


def _served(others: Others) -> str:
    waiting = f", {others.waiting} waiting" if others.waiting else ""
    return f"{others.running} requests of others were running{waiting}"


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return {"median": spread.median, "p99": spread.p99} if spread else None


def _lengths(lengths: Lengths | None) -> dict[str, float] | None:
    if lengths is None:
        return None
    return {"median": lengths.median, "shortest": lengths.shortest, "longest": lengths.longest}
