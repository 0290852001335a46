"""File systems of a Proxmox host that run out of room: guests' images and the cluster's data lie there."""

from fleetops.checks.host.disk_full import NAME, judge_machine
from fleetops.checks.support.machine import of_sight
from fleetops.model.finding import Finding, HypervisorCheck
from fleetops.model.sight import HypervisorSight


def judge(sight: HypervisorSight) -> list[Finding]:
    """As of a node's machine."""
    return judge_machine(of_sight(sight))


CHECK = HypervisorCheck(name=NAME, title="the host's disks have room", judge=judge)
