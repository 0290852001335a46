"""Swap of a Proxmox host: what its containers' and emulators' memory has been put into."""

from fleetops.checks.host.swap_used import NAME, judge_machine
from fleetops.checks.support.machine import of_sight
from fleetops.model.finding import Finding, HypervisorCheck
from fleetops.model.sight import HypervisorSight


def judge(sight: HypervisorSight) -> list[Finding]:
    """As of a node's machine."""
    return judge_machine(of_sight(sight))


CHECK = HypervisorCheck(name=NAME, title="no swap is in use", judge=judge)
