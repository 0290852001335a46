"""What time a host believes it is.

Nanoseconds where `date` knows them; BusyBox leaves `%N` as it stands (seen in 1.35), and then a second is all there is.
"""

import re

from fleetops.facts.output import lines, require_ok
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import CLOCK, Clock

_TIME = re.compile(r"([0-9]{1,11})\.(?:([0-9]{9})|%N|N)")


def parse(outcome: Outcome) -> Clock:
    """Raises Unparsable for an answer of another form."""
    require_ok(outcome, "date")
    found = lines(outcome)
    match = _TIME.fullmatch(found[0]) if len(found) == 1 else None
    if match is None:
        raise Unparsable(f"not a time: {outcome.stdout[:80]!r}")
    return Clock(epoch_s=int(match[1]) + int(match[2] or 0) / 1e9)


FACT: Fact[Clock] = Fact(CLOCK, Command(argv=("date", "+%s.%N")), parse)
