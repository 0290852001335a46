"""Units of a Proxmox host that have failed, its own daemons among them."""

from fleetops.checks.host.failed_units import NAME, judge_machine
from fleetops.checks.support.machine import of_sight
from fleetops.model.finding import Finding, HypervisorCheck
from fleetops.model.sight import HypervisorSight


def judge(sight: HypervisorSight) -> list[Finding]:
    """As of a node's machine."""
    return judge_machine(of_sight(sight))


CHECK = HypervisorCheck(name=NAME, title="no unit of systemd has failed", judge=judge)
