"""Changes of a guest's configuration that wait for its next start: a recovery that power-cycles it would apply them."""

from fleetops.checks.support.guests import TOOLS, nodes_guests
from fleetops.checks.support.machine import Machine, gaps, has_none, of_sight, told
from fleetops.checks.support.saying import listed
from fleetops.model.fact import Facts
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.fleet import Guest
from fleetops.model.guest import PENDING, PendingChange
from fleetops.model.sight import HypervisorSight

_NAME = "pending-changes"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding per guest, with each change."""
    host = of_sight(sight)
    return [
        finding
        for name, guest, facts in nodes_guests(sight)
        for finding in _pending(host, name, guest, facts)
    ]


def _pending(host: Machine, name: str, guest: Guest, facts: Facts) -> list[Finding]:
    if has_none(facts, PENDING):  # it is not here, which another check tells
        return []
    if unknown := gaps(_NAME, host, PENDING, on=facts, of=name):
        return unknown
    changes = facts.value(PENDING)
    if not changes:
        return []
    evidence = f"{name}: the next start of guest {guest.id} changes {listed(map(_said, changes))}"
    run = f"{TOOLS[guest.kind]} pending {guest.id}"
    return [told(_NAME, host, Severity.WARNING, f"guest {guest.id} changes pending", evidence, run=run)]


def _said(change: PendingChange) -> str:
    if change.then is None:
        return f"{change.key} (now {change.now}, removed)"
    return f"{change.key} (now {change.now or 'not set'}, then {change.then})"


CHECK = HypervisorCheck(name=_NAME, title="no guest has pending changes", judge=judge)
