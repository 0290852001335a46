"""Who differs from the rest: most have the same, and a few have something else."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_LEAST = 3


@dataclass(frozen=True, kw_only=True)
class Odd:
    """One that differs: what it has, what most have, and how many of how many."""

    name: str
    has: str
    most_have: str
    of: str


def odd_ones(values: Mapping[str, str]) -> tuple[Odd, ...]:
    """By name. Nobody differs among fewer than three, or where no value is that of more than half."""
    if len(values) < _LEAST:
        return ()
    usual, count = Counter(values.values()).most_common(1)[0]
    if count * 2 <= len(values):
        return ()
    return tuple(
        Odd(name=name, has=value, most_have=usual, of=f"{count} of {len(values)}")
        for name, value in values.items()
        if value != usual
    )
