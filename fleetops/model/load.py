"""What is asked of a service to measure it, and what comes of each request.

Times are seconds on one clock that only goes forward. Tokens are those that the service itself counted (`usage`): how
many events they came in says nothing, since one event may carry several.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fleetops.model import standard


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is asked of a service; figures are comparable between equal loads only.

    Attributes:
        concurrency: how many requests are under way at once.
        prompt_tokens: asked-for length of each prompt.
        output_tokens: how many tokens each answer shall have.
        requests: how many requests in all.
    """

    concurrency: int
    prompt_tokens: int
    output_tokens: int
    requests: int


SHORT = Load(concurrency=8, prompt_tokens=32, output_tokens=64, requests=24)
"""What every launch measures: seconds on any machine that is fit to serve."""

STANDARD = Load(
    concurrency=standard.CONCURRENCY,
    prompt_tokens=standard.PROMPT_TOKENS,
    output_tokens=standard.OUTPUT_TOKENS,
    requests=standard.CONCURRENCY * standard.WAVES,
)
"""What `fleetops measure` and `launch --measure` ask for where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The service's own count of one request. `cached_tokens` of the prompt were not computed anew; None: not told."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None = None


class TroubleKind(Enum):
    """Why a request came to nothing."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    STATUS = "status"
    DEADLINE = "deadline"
    BROKEN = "broken"
    SERVER_ERROR = "server-error"
    MALFORMED = "malformed"
    NO_USAGE = "no-usage"
    EMPTY = "empty"
    NOT_BEGUN = "not-begun"


@dataclass(frozen=True)
class Trouble:
    """Why one request came to nothing, and what came back."""

    kind: TroubleKind
    message: str


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One request. With neither `usage` nor `trouble` it was cut off by the operator while it was under way.

    Attributes:
        events: when text came; empty where the answer came in one piece.
        way_s: how long it took to reach the port, before anything was asked: the way there and back.
    """

    asked_at: float
    ended_at: float
    way_s: float = 0.0
    events: tuple[float, ...] = ()
    usage: Usage | None = None
    trouble: Trouble | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it was answered to the end."""
        return self.usage is not None and self.trouble is None

    @property
    def was_begun(self) -> bool:
        """Whether anything was sent."""
        return self.trouble is None or self.trouble.kind is not TroubleKind.NOT_BEGUN

    @property
    def first_token_s(self) -> float | None:
        """From asking to the first text; None where the answer was not streamed."""
        return self.events[0] - self.asked_at if self.events else None

    @property
    def gaps_s(self) -> Iterator[float]:
        """Time per token between one event and the next, at this request's own number of tokens per event."""
        if self.usage is None or self.usage.output_tokens < 2 or len(self.events) < 2:
            return
        share = (len(self.events) - 1) / (self.usage.output_tokens - 1)
        for earlier, later in zip(self.events, self.events[1:], strict=False):
            yield (later - earlier) * share


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How far a measurement is: what a display shows while it runs. `tokens` came until `at`, as far as events tell."""

    load: Load
    at: float
    begun: int = 0
    answered: int = 0
    failed: int = 0
    tokens: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Others:
    """Requests that a service has anyway, as its metrics tell."""

    running: int
    waiting: int


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is measured: one service on one node. `version` is "" where nothing tells; `others` None likewise."""

    node: str
    port: int
    engine: str
    title: str
    version: str
    model: str
    others: Others | None = None
