"""The figures of a measurement: rates and delays of a service under a load."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fleetops.model.load import Attempt, Load, TroubleKind

# Below this share of the run, the time in which all streams were busy says little: the whole run is taken instead.
_LEAST_STEADY = 0.1
# Above this share of one core, or of events that arrived together, what was measured may be this machine's own pace.
_BUSY = 0.8
_BUNCHED = 0.2
# Below this share of the usual time between two events of a request, the second was there already.
_TOGETHER = 0.1


@dataclass(frozen=True)
class Spread:
    """The middle of many values, and what all but one in a hundred stay below."""

    median: float
    p99: float


@dataclass(frozen=True)
class Lengths:
    """Token counts of many requests."""

    median: float
    shortest: int
    longest: int


@dataclass(frozen=True)
class Errors:
    """Requests that came to nothing in the same way; `message` is the first one's."""

    kind: TroubleKind
    count: int
    message: str


@dataclass(frozen=True)
class Window:
    """A stretch of time, its beginning excluded."""

    begin: float
    end: float

    @property
    def length_s(self) -> float:
        """Seconds."""
        return self.end - self.begin

    def holds(self, at: float) -> bool:
        """Whether this moment lies in it."""
        return self.begin < at <= self.end


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What came of one load.

    Attributes:
        attempts: one for each request of the load, those never begun included; only what an interruption kept from
            being begun is left out.
        warm_ups: what came before them, no part of the figures but for its errors.
        seed: from which the prompts were made.
        cpu_s: processor time that this program took meanwhile.
    """

    load: Load
    attempts: tuple[Attempt, ...]
    seed: int = 0
    warm_ups: tuple[Attempt, ...] = ()
    interrupted: bool = False
    cpu_s: float = 0.0

    @cached_property
    def whole(self) -> tuple[Attempt, ...]:
        """The requests that were answered to the end."""
        return tuple(one for one in self.attempts if one.is_whole)

    @cached_property
    def _begun(self) -> tuple[Attempt, ...]:
        return tuple(one for one in self.attempts if one.was_begun)

    @property
    def errors(self) -> tuple[Errors, ...]:
        """What went wrong, by kind, the most frequent first."""
        troubles = [one.trouble for one in (*self.warm_ups, *self.attempts) if one.trouble]
        first = {one.kind: one.message for one in reversed(troubles)}
        counted = Counter(one.kind for one in troubles).most_common()
        return tuple(Errors(kind, count, first[kind]) for kind, count in counted)

    @property
    def wall_s(self) -> float:
        """From the first request to the end of the last."""
        run = self._run
        return run.length_s if run else 0.0

    @property
    def first_token_s(self) -> Spread | None:
        """Time to the first token."""
        return spread(one.first_token_s for one in self.whole if one.first_token_s is not None)

    @property
    def between_tokens_s(self) -> Spread | None:
        """Time from one token to the next, over all requests together."""
        return spread(gap for one in self.whole for gap in one.gaps_s)

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens a second, all streams together, in `window`; None where nothing was answered."""
        window, per_event = self.window, self.tokens_per_event
        if window is None or not self.whole or window.length_s <= 0:
            return None
        tokens = sum(_tokens_in(window, one, per_event) for one in self._begun)
        return tokens / window.length_s

    @property
    def tokens_per_s_per_stream(self) -> float | None:
        """Output tokens a second that one stream gets once its first token is there; the median request."""
        rates = [
            (one.usage.output_tokens - 1) / (one.events[-1] - one.events[0])
            for one in self.whole
            if one.usage and one.usage.output_tokens > 1 and one.events and one.events[-1] > one.events[0]
        ]
        return quantile(sorted(rates), 0.5) if rates else None

    @property
    def tokens_per_event(self) -> float:
        """How many tokens an event carried on average; 0 where nothing was streamed."""
        streamed = [one for one in self.whole if one.events]
        events = sum(len(one.events) for one in streamed)
        return sum(one.usage.output_tokens for one in streamed if one.usage) / events if events else 0.0

    @property
    def window(self) -> Window | None:
        """The time that `tokens_per_s` is about: the steady state, or the whole run where that is too short."""
        return self.steady or self._run

    @cached_property
    def steady(self) -> Window | None:
        """From the moment when all streams give tokens to the first end that no further request follows.

        None where that is hardly any time: few requests, or answers much shorter than their prompts took.
        """
        run = self._run
        starts = sorted(one.events[0] if one.events else one.asked_at for one in self._begun if _gave(one))
        ends = sorted(one.ended_at for one in self._begun)
        if not starts or run is None:
            return None
        streams = min(self.load.concurrency, len(starts))
        found = Window(starts[streams - 1], ends[-streams])
        return found if found.length_s > _LEAST_STEADY * run.length_s else None

    @cached_property
    def _run(self) -> Window | None:
        if not self._begun:
            return None
        return Window(min(one.asked_at for one in self._begun), max(one.ended_at for one in self._begun))

    @property
    def prompt_lengths(self) -> Lengths | None:
        """How long the prompts really were."""
        return _lengths([one.usage.prompt_tokens for one in self.whole if one.usage])

    @property
    def output_lengths(self) -> Lengths | None:
        """How many tokens the answers really had."""
        return _lengths([one.usage.output_tokens for one in self.whole if one.usage])

    @property
    def cached_tokens(self) -> int | None:
        """How many prompt tokens were not computed anew; None where the service does not tell."""
        told = [one.usage.cached_tokens for one in self.whole if one.usage]
        known = [count for count in told if count is not None]
        return sum(known) if known else None

    @property
    def way_s(self) -> float:
        """The way to the service and back, the shortest seen: part of every time to a first token."""
        return min((one.way_s for one in self.whole), default=0.0)

    @property
    def not_streamed(self) -> int:
        """How many answers came in one piece, and so have no time to the first token."""
        return sum(1 for one in self.whole if not one.events)

    @property
    def bunched(self) -> float:
        """The share of events that arrived with the one before, as good as: hardly any where reading keeps up."""
        together = among = 0
        for one in self.whole:
            gaps = list(one.gaps_s)
            together += sum(gap * len(gaps) < _TOGETHER * sum(gaps) for gap in gaps)
            among += len(gaps)
        return together / among if among else 0.0

    @property
    def was_held_back(self) -> bool:
        """Whether the figures may be the limit of this machine, or of the way to the node, and not the service's."""
        return self.bunched > _BUNCHED or (self.wall_s > 0 and self.cpu_s > _BUSY * self.wall_s)


def spread(values: Iterable[float]) -> Spread | None:
    """Median and 99th percentile, None of nothing."""
    ordered = sorted(values)
    return Spread(quantile(ordered, 0.5), quantile(ordered, 0.99)) if ordered else None


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of values in rising order, at least one: between two neighbours in proportion, as NumPy's default."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _gave(attempt: Attempt) -> bool:
    return bool(attempt.events) or attempt.is_whole


def _tokens_in(window: Window, attempt: Attempt, per_event: float) -> float:
    """How many tokens a request gave in that time; of one without a count of its own, what its events usually carry."""
    inside = sum(map(window.holds, attempt.events))
    if attempt.usage is None:
        return inside * per_event
    if attempt.events:
        return attempt.usage.output_tokens * inside / len(attempt.events)
    overlap_s = min(window.end, attempt.ended_at) - max(window.begin, attempt.asked_at)
    lasted_s = attempt.ended_at - attempt.asked_at
    return attempt.usage.output_tokens * max(overlap_s, 0.0) / lasted_s if lasted_s > 0 else 0.0


def _lengths(counts: Sequence[int]) -> Lengths | None:
    ordered = sorted(counts)
    return Lengths(quantile(ordered, 0.5), ordered[0], ordered[-1]) if ordered else None
