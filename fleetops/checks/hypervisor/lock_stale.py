"""A lock in a guest's configuration that no running task would hold: what set it has ended without taking it away.

Proxmox refuses to start, stop or back up the guest until a person has removed it, once it is sure that nothing runs.
"""

from fleetops.checks.support.guests import nodes_guests
from fleetops.checks.support.machine import Machine, gaps, has_none, of_sight, told
from fleetops.model.duration import show_duration
from fleetops.model.fact import Facts
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.fleet import Guest
from fleetops.model.guest import GUEST, TASKS
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight

_NAME = "lock-stale"
# A VM that was suspended to disk keeps its lock until it is resumed: no task holds it, and none should.
_WITHOUT_TASK = frozenset({"suspended"})


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding per guest, with how long the lock has been seen."""
    host = of_sight(sight)
    return [
        finding for name, guest, facts in nodes_guests(sight) for finding in _stale(host, name, guest, facts)
    ]


def _stale(host: Machine, name: str, guest: Guest, facts: Facts) -> list[Finding]:
    if has_none(facts, GUEST):  # it is not here, which another check tells
        return []
    if unknown := gaps(_NAME, host, GUEST, on=facts, of=name):
        return unknown
    state = facts.value(GUEST)
    if state is None or not state.lock or state.lock in _WITHOUT_TASK:
        return []
    if unknown := gaps(_NAME, host, TASKS, on=facts, of=name):
        return unknown
    if facts.value(TASKS):
        return []
    lock, _, since = host.past.words.get(f"lock-{guest.id}", "").partition(" ")
    seen = f"; seen for {show_duration(host.facts.at - float(since))}" if lock == state.lock and since else ""
    evidence = f"{name}: guest {guest.id} is locked ({state.lock}), and no task runs that would hold it{seen}"
    run = f"pvenode task list --vmid {guest.id}"
    return [told(_NAME, host, Severity.WARNING, f"guest {guest.id} lock stale", evidence, run=run)]


def remember(sight: HypervisorSight) -> Remembered:
    """Each lock and since when it has been seen; nothing for a guest without one, so that a later one starts anew."""
    words = {}
    for _, guest, facts in nodes_guests(sight):
        state = facts.value(GUEST)
        if state is None:
            continue
        name = f"lock-{guest.id}"
        lock, _, since = sight.past.words.get(name, "").partition(" ")
        known = lock == state.lock and since
        words[name] = f"{state.lock} {since if known else f'{sight.facts.at:.0f}'}" if state.lock else ""
    return Remembered(words=words)


CHECK = HypervisorCheck(name=_NAME, title="no lock outlives its task", judge=judge)
