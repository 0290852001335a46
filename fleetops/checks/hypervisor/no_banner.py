"""A Proxmox host whose kernel accepts connections and whose sshd says nothing: out of memory, or stuck on its disks."""

from fleetops.checks.support.machine import of_sight, told
from fleetops.checks.support.saying import listed
from fleetops.model.errors import Silence
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.sight import HypervisorSight

_NAME = "no-banner"


def judge(sight: HypervisorSight) -> list[Finding]:
    """Certain, as it was seen: nothing stands beside a Proxmox host but its console."""
    gap = sight.facts.silence
    if gap is None or gap.reason != Silence.NO_BANNER:
        return []
    whose = f"; its nodes: {listed(sorted(sight.nodes))}" if sight.nodes else ""
    evidence = f"it is not down: TCP answers; a person looks at its console{whose}"
    return [told(_NAME, of_sight(sight), Severity.CRITICAL, "no SSH banner", evidence)]


CHECK = HypervisorCheck(name=_NAME, title="SSH says its banner", judge=judge)
