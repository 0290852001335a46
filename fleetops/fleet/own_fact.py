"""What a check of the operator's own reads: his command, and its output as he says that it is to be read."""

import re
from functools import partial

from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.own_check import OwnCheck, OwnReading

_LONGEST = 200


def fact(check: OwnCheck) -> Fact[OwnReading]:
    """The command as he wrote it; it is his to change nothing."""
    command = Command(argv=check.command, deadline_s=check.deadline_s, root=check.root)
    return Fact(check.key, command, partial(parse, check=check))


def parse(outcome: Outcome, check: OwnCheck) -> OwnReading:
    """Raises Unparsable for a number that is none, and for a command that failed where its output is what counts."""
    status = outcome.status if outcome.status is not None else 1
    text = next(iter(outcome.stdout.strip().splitlines()), "") or outcome.said
    if check.read == "status":
        return OwnReading(status=status, text=text[:_LONGEST])
    if status != 0:
        raise Unparsable(f"its command ended with status {status}: {outcome.said}")
    if check.read == "text":
        matched = re.search(check.pattern, outcome.stdout, re.MULTILINE) is not None
        return OwnReading(status=status, text=text[:_LONGEST], matched=matched)
    return OwnReading(status=status, text=text[:_LONGEST], number=_number(outcome.stdout, check.pattern))


def _number(text: str, pattern: str) -> float:
    found = re.search(pattern, text, re.MULTILINE) if pattern else None
    if pattern and found is None:
        raise Unparsable(f"its output has no match for {pattern}")
    told = text if found is None else found[1] if found.re.groups else found[0]
    try:
        return float(told)
    except ValueError:
        raise Unparsable(f"not a number: {told.strip()[:_LONGEST]!r}") from None
