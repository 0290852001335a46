"""A command in batches: a few hosts, a look at how they fared, the next few; and a stop where too many have failed."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fleetops.model.errors import Refused
from fleetops.model.fleet import Host
from fleetops.model.run import RunReport

T = TypeVar("T")
_LOOK_S = 0.2  # an interrupt is seen during a pause


@dataclass(frozen=True, kw_only=True)
class Batches:
    """How a run is divided.

    Attributes:
        size: hosts in a batch; 0 for all at once.
        pause_s: between the end of one batch and the beginning of the next.
        max_failures: how many hosts may have failed before no further batch begins.
        ends_at: on the monotonic clock, when no further batch begins any more.
        on_pause: told the number of the batch that comes, and the seconds left until then.
    """

    size: int = 0
    pause_s: float = 0.0
    max_failures: int = 0
    ends_at: float = math.inf
    on_pause: Callable[[int, float], None] = lambda _number, _left_s: None


def run_in_batches(
    hosts: Sequence[Host], batches: Batches, run: Callable[[Sequence[Host]], RunReport]
) -> RunReport:
    """`run` for one batch after the other. The hosts of batches that were not begun have failed, each with the reason."""
    report = RunReport(outcomes=(), failures=())
    parts = list(_parts(hosts, batches.size))
    for number, part in enumerate(parts, 1):
        report = report.joined(run(part))
        failed = len(report.failed)
        why = f"stopped after batch {number} of {len(parts)}"
        if failed > batches.max_failures:
            return report.joined(_not_started(parts[number:], f"{why}: {_counted(failed)} failed"))
        if number < len(parts) and not _pause(number + 1, batches):
            return report.joined(_not_started(parts[number:], f"{why}: the deadline was over"))
    return report


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    step = size or len(items) or 1
    for first in range(0, len(items), step):
        yield items[first : first + step]


def _pause(number: int, batches: Batches) -> bool:
    """Wait for the next batch; whether it may begin before the whole has to end."""
    ends = min(time.monotonic() + batches.pause_s, batches.ends_at)
    while (left_s := ends - time.monotonic()) > 0:
        batches.on_pause(number, left_s)
        time.sleep(min(_LOOK_S, left_s))
    return time.monotonic() < batches.ends_at


def _not_started(parts: Sequence[Sequence[Host]], why: str) -> RunReport:
    hint = "see what came of the others; then run it on the rest"
    failures = tuple(
        (host.name, Refused(f"not started: {why}", guard="batch", host=host.name, hint=hint))
        for part in parts
        for host in part
    )
    return RunReport(outcomes=(), failures=failures)


def _counted(hosts: int) -> str:
    return f"{hosts} host" if hosts == 1 else f"{hosts} hosts"
