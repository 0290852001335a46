"""A Proxmox host that has started anew since the last sweep: its guests have too."""

from fleetops.checks.host.rebooted import NAME, judge_machine
from fleetops.checks.support.machine import of_sight
from fleetops.model.finding import Finding, HypervisorCheck
from fleetops.model.sight import HypervisorSight


def judge(sight: HypervisorSight) -> list[Finding]:
    """As of a node's machine."""
    return judge_machine(of_sight(sight))


CHECK = HypervisorCheck(
    name=NAME, title="the host has not rebooted since the last sweep", judge=judge, latched=True
)
