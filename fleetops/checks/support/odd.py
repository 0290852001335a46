"""Who differs from the rest: most have the same, and a few have something else."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fleetops.checks.support.saying import found
from fleetops.model.finding import Finding, Observation, Severity

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


def differing(
    check: str,
    observations: Sequence[Observation],
    subject: str,
    what: str,
    has: Callable[[Observation], tuple[str, str] | None],
) -> list[Finding]:
    """A warning for each node that differs. `has`: among whom it is compared, in words, and what it has; None: not at all."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    seen = {one.node.name: one for one in observations}
    for name, one in seen.items():
        if told := has(one):
            among, value = told
            groups[among][name] = value
    return [
        found(
            check,
            seen[odd.name],
            Severity.WARNING,
            subject,
            f"its {what} is {odd.has}; {odd.of} nodes {among} have {odd.most_have}",
            command="probe",
        )
        for among, values in groups.items()
        for odd in odd_ones(values)
    ]
