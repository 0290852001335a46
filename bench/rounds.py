"""Rounds: everyone runs once in each, in an order that is another one each time, until all are done or the time is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.model import Row, Sample


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Somebody who is timed. `run` is given the seconds it may take."""

    name: str
    run: Callable[[float], Sample]
    version: str = ""
    note: str = ""


def rotated(entries: Sequence[Entry], by: int) -> list[Entry]:
    """The same, beginning with another one: nobody always comes right after the same neighbour's remains."""
    start = by % len(entries) if entries else 0
    return [*entries[start:], *entries[:start]]


def interleave(
    entries: Sequence[Entry],
    rounds: int,
    *,
    budget_s: float,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Row]:
    """One row for each entry, in their order.

    No round is begun that would, as the longest one so far, not end within the budget; no run outlives it.
    """
    until = clock() + budget_s
    samples: dict[str, dict[int, Sample]] = {entry.name: {} for entry in entries}
    longest_s = 0.0
    for number in range(rounds):
        began = clock()
        if began + longest_s > until:
            tell(f"the time is up after {number} of {rounds} rounds")
            break
        for entry in rotated(entries, number):
            if (left_s := until - clock()) > 0:
                samples[entry.name][number] = entry.run(left_s)
        longest_s = max(longest_s, clock() - began)
        tell(f"round {number + 1} of {rounds}: {clock() - began:.1f} s")
    return [
        Row(name=entry.name, version=entry.version, note=entry.note, samples=samples[entry.name])
        for entry in entries
    ]
