"""A Proxmox host that answers late: its tools wait for the cluster's file system or for a storage."""

from fleetops.checks.host.slow_to_answer import NAME, judge_machine
from fleetops.checks.support.machine import of_sight
from fleetops.model.finding import Finding, HypervisorCheck
from fleetops.model.sight import HypervisorSight


def judge(sight: HypervisorSight) -> list[Finding]:
    """As of a node's machine."""
    return judge_machine(of_sight(sight))


CHECK = HypervisorCheck(name=NAME, title="the host answers promptly", judge=judge)
