"""A Proxmox host that runs out of memory: its OOM killer then ends a guest, and a VM's start fails.

ZFS's cache counts as used, and most of it comes back when asked for.
"""

from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.checks.support.zfs_cache import arc_unknown, known_arc
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.machine import MEMORY
from fleetops.model.sight import HypervisorSight
from fleetops.model.units import show_gb

_NAME = "memory-low"


def judge(sight: HypervisorSight) -> list[Finding]:
    """By the share of its memory that may still be taken."""
    host = of_sight(sight)
    if unknown := [*gaps(_NAME, host, MEMORY), *arc_unknown(_NAME, host)]:
        return unknown
    memory, arc = host.facts.value(MEMORY), known_arc(host)
    if memory is None:
        return []
    back_bytes = arc.returnable_bytes if arc else 0
    left_bytes = memory.available_bytes + back_bytes
    percent = 100 * left_bytes / memory.total_bytes
    warn = host.thresholds["hypervisor-memory-available-percent"]
    critical = host.thresholds["hypervisor-memory-available-critical-percent"]
    if percent >= warn:
        return []
    cache = f" and {show_gb(back_bytes)} that ZFS's cache gives back" if back_bytes else ""
    evidence = (
        f"{show_gb(memory.available_bytes)} of {show_gb(memory.total_bytes)} available{cache}:"
        f" {percent:.1f} %, and {critical if percent < critical else warn:g} % have to be left"
    )
    severity = Severity.CRITICAL if percent < critical else Severity.WARNING
    return [told(_NAME, host, severity, "memory low", evidence, run="ps -eo rss,pid,args --sort=-rss")]


CHECK = HypervisorCheck(name=_NAME, title="host memory is not running out", judge=judge)
