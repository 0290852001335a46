"""Guests of the inventory that are not where, what or how it says: gone, on another host of the cluster, not running."""

from fleetops.checks.support.guests import RUNNING, TOOLS, cluster_name, nodes_guests
from fleetops.checks.support.machine import Machine, gaps, of_sight, told
from fleetops.model.fact import Facts
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.fleet import Guest
from fleetops.model.guest import GUEST, GUESTS, GuestEntry
from fleetops.model.machine import IDENTITY
from fleetops.model.sight import HypervisorSight

_NAME = "guest-unexpected"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding per guest. Where it is says the cluster's list, how it is the host itself, which is never behind."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, GUESTS, IDENTITY):
        return unknown
    listed = {one.id: one for one in sight.facts.value(GUESTS) or ()}
    here = cluster_name(sight)
    return [
        finding
        for name, guest, facts in nodes_guests(sight)
        for finding in _elsewhere(host, name, guest, listed.get(guest.id), here)
        or _not_running(host, name, guest, facts)
    ]


def _elsewhere(host: Machine, name: str, guest: Guest, entry: GuestEntry | None, here: str) -> list[Finding]:
    if entry is None:
        subject, why = "gone", f"the cluster has no guest {guest.id}"
    elif entry.kind != guest.kind:
        subject, why = "another kind", f"guest {guest.id} is of kind {entry.kind}, not {guest.kind}"
    elif entry.node not in {"", here}:
        subject, why = (
            "elsewhere",
            f"guest {guest.id} is on {entry.node}, the inventory says {host.name}",
        )
    else:
        return []
    run = "pvesh get /cluster/resources --type vm"
    return [told(_NAME, host, Severity.CRITICAL, f"guest {guest.id} {subject}", f"{name}: {why}", run=run)]


def _not_running(host: Machine, name: str, guest: Guest, facts: Facts) -> list[Finding]:
    if unknown := gaps(_NAME, host, GUEST, on=facts, of=name):
        return unknown
    state = facts.value(GUEST)
    if state is None or state.status == RUNNING:
        return []
    starts = ", although it is set to start with the host" if state.config.get("onboot") == "1" else ""
    evidence = f"{name}: guest {guest.id} is {state.status}{starts}"
    run = f"{TOOLS[guest.kind]} status {guest.id} --verbose"
    return [told(_NAME, host, Severity.CRITICAL, f"guest {guest.id} {state.status}", evidence, run=run)]


CHECK = HypervisorCheck(name=_NAME, title="guests are as the inventory says", judge=judge)
