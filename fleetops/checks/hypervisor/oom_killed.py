"""What a Proxmox host's OOM killer has ended since the last sweep: VMs' emulators, its own daemons, and whoever it
took because the machine itself was out of memory. What ran into its own container's limit, its node tells.
"""

from fleetops.checks.support.guests import called
from fleetops.checks.support.kernel_news import log_read, lost_lines, news
from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.checks.support.oom import Victim, said, victims
from fleetops.checks.support.saying import counted
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight

_NAME = "oom-killed"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding for all victims: for all guests' sake critical where the whole machine was out of memory."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, KERNEL_LOG):
        return unknown
    what = news(host, host.facts)
    if what is None:
        return []
    nodes = {node.guest.id for node in sight.nodes.values() if node.guest}
    killed = [one for one in victims(what.lines) if one.for_all or one.container not in nodes]
    findings = lost_lines(_NAME, host, host.facts, what)
    if not killed:
        return findings
    evidence = (
        f"the kernel has killed {counted(len(killed), 'process', 'processes')} for want of memory {what.since}:"
        f" {said(killed, lambda one: _whose(one, sight))}; the last one {what.ago(killed[-1].line)}"
    )
    severity = Severity.CRITICAL if any(one.for_all for one in killed) else Severity.WARNING
    run = "ps -eo rss,pid,args --sort=-rss"
    return [told(_NAME, host, severity, "OOM kill", evidence, run=run), *findings]


def _whose(victim: Victim, sight: HypervisorSight) -> str:
    of = victim.container or victim.virtual_machine
    return f" of guest {called(sight, of)}" if of else ""


def remember(sight: HypervisorSight) -> Remembered:
    """When the kernel's log was last read."""
    return log_read(sight.facts)


CHECK = HypervisorCheck(name=_NAME, title="the OOM killer has ended nothing", judge=judge, latched=True)
