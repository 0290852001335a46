"""A Proxmox host that could not be asked anything. It is unknown, not down, and so is what only it can tell of its guests."""

from fleetops.checks.support.machine import of_sight, told
from fleetops.checks.support.saying import listed
from fleetops.model.errors import Silence
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.sight import HypervisorSight

_NAME = "unreachable"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding with the reason; nothing beside it could tell more."""
    gap = sight.facts.silence
    if gap is None and sight.facts.readings:
        return []
    if gap is not None and gap.reason == Silence.NO_BANNER:
        return []
    whose = f"; its nodes: {listed(sorted(sight.nodes))}" if sight.nodes else ""
    evidence = f"{gap.why if gap else 'nothing was read from it'}{whose}"
    return [told(_NAME, of_sight(sight), Severity.UNKNOWN, "unreachable", evidence)]


CHECK = HypervisorCheck(name=_NAME, title="the Proxmox host answers", judge=judge)
