"""Changes of a guest's configuration that its next start would apply (`qm pending`, `pct pending`).

One line for a value in force (`cur KEY: VALUE`), one more where another is to come (`new KEY: VALUE`), and `del KEY: VALUE`
where it is to go (pve-guest-common, GuestHelpers.pm format_pending).
"""

import re

from fleetops.facts.guest import TOOLS
from fleetops.facts.output import lines, require_ok
from fleetops.facts.proxmox import require_guest
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.guest import PENDING, PendingChange

_LINE = re.compile(r"(cur|new|del) ([A-Za-z][\w.-]*): ?(.*)", re.DOTALL)


def fact(kind: str, guest_id: int) -> Fact[tuple[PendingChange, ...]]:
    """The pending changes of guest `guest_id`, `kind` being `lxc` or `vm`."""
    command = Command(argv=(TOOLS[kind], "pending", str(guest_id)), deadline_s=20.0, root=True)
    return Fact(PENDING, command, parse)


def parse(outcome: Outcome) -> tuple[PendingChange, ...]:
    """By key. Raises Absent for an unknown guest, Unparsable for an answer of another form."""
    require_guest(outcome)
    require_ok(outcome, "the tool")
    told: dict[str, dict[str, str]] = {"cur": {}, "new": {}, "del": {}}
    for line in lines(outcome):
        match = _LINE.fullmatch(line)
        if match is None:
            raise Unparsable(f"not a line of a pending configuration: {line[:80]!r}")
        told[match[1]][match[2]] = match[3]
    if not any(told.values()):
        raise Unparsable("a configuration without a single value")
    changes = [
        PendingChange(key=key, now=told["cur"].get(key), then=then) for key, then in told["new"].items()
    ]
    changes += [PendingChange(key=key, now=now, then=None) for key, now in told["del"].items()]
    return tuple(sorted(changes, key=lambda change: change.key))
