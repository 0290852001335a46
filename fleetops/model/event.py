"""What a run tells while it goes: events to sinks, which show or record them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

StepStatus = Literal["done", "skipped", "failed", "refused"]


@dataclass(frozen=True, kw_only=True)
class StepStarted:
    """A step begins; steps are numbered from 1."""

    number: int
    step: str
    title: str
    host: str


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A word on what is going on inside a step."""

    step: str
    text: str


@dataclass(frozen=True, kw_only=True)
class StepEnded:
    """A step ended; `detail` says what was seen, or why it did not happen."""

    number: int
    step: str
    title: str
    status: StepStatus
    detail: str
    seconds: float


Event = StepStarted | Progress | StepEnded
Sink = Callable[[Event], None]
