"""Memory promised to the running guests beyond what the host has: when they take it, the host's OOM killer ends one.

A container's limit is memory of the host like a VM's; what ZFS's cache never gives back is taken as well.
"""

from fleetops.checks.support.guests import RUNNING, called, own_guests
from fleetops.checks.support.machine import Machine, gaps, of_sight, told
from fleetops.checks.support.saying import counted, listed
from fleetops.checks.support.zfs_cache import arc_unknown, known_arc
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.guest import GUEST, GUESTS, GuestEntry
from fleetops.model.machine import IDENTITY, MEMORY
from fleetops.model.sight import HypervisorSight
from fleetops.model.units import show_gb

_NAME = "memory-promised"


def judge(sight: HypervisorSight) -> list[Finding]:
    """The sum of the limits of what runs; a guest whose limit is not told leaves the sum unknown where it fits else."""
    host = of_sight(sight)
    if unknown := [*gaps(_NAME, host, GUESTS, IDENTITY, MEMORY), *arc_unknown(_NAME, host)]:
        return unknown
    memory, arc = host.facts.value(MEMORY), known_arc(host)
    running = [one for one in own_guests(sight) if one.status == RUNNING]
    if memory is None:
        return []
    cache_bytes = arc.least_bytes if arc else 0
    promised_bytes = sum(_limit(sight, one) or 0 for one in running)
    if promised_bytes + cache_bytes <= memory.total_bytes:
        return _untold(sight, host, running)
    largest = sorted(running, key=lambda one: (-(_limit(sight, one) or 0), one.id))
    cache = f" and at least {show_gb(cache_bytes)} to ZFS's cache" if cache_bytes else ""
    each = listed(f"{called(sight, one.id)} {show_gb(_limit(sight, one) or 0)}" for one in largest)
    over_bytes = promised_bytes + cache_bytes - memory.total_bytes
    evidence = (
        f"{show_gb(promised_bytes)} are promised to {counted(len(running), 'running guest')}{cache},"
        f" {show_gb(over_bytes)} more than the host's {show_gb(memory.total_bytes)}: {each}"
    )
    run = "pvesh get /cluster/resources --type vm"
    return [told(_NAME, host, Severity.WARNING, "memory overcommitted", evidence, run=run)]


def _limit(sight: HypervisorSight, entry: GuestEntry) -> int | None:
    """As the cluster lists it, or as the guest's own configuration says."""
    states = (facts.value(GUEST) for facts in sight.guests.values())
    told = (state.memory_bytes for state in states if state is not None and state.id == entry.id)
    return entry.memory_bytes if entry.memory_bytes is not None else next(told, None)


def _untold(sight: HypervisorSight, host: Machine, running: list[GuestEntry]) -> list[Finding]:
    untold = [called(sight, one.id) for one in running if _limit(sight, one) is None]
    if not untold:
        return []
    evidence = f"the cluster's list tells no memory limit of {listed(untold)}"
    return [told(_NAME, host, Severity.UNKNOWN, "memory limits not known", evidence)]


CHECK = HypervisorCheck(name=_NAME, title="guests are promised no more memory than there is", judge=judge)
