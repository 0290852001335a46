"""Which node a sweep may recover by its policy, and why; pure."""

import time
from dataclasses import dataclass

from fleetops.checks import all_checks
from fleetops.inventory.patterns import select_names
from fleetops.model.finding import Finding, Severity
from fleetops.model.fleet import Inventory
from fleetops.model.policy import Policy
from fleetops.model.sweep import SILENCES, Sweep, Tracked


@dataclass(frozen=True, kw_only=True)
class Due:
    """A node that the policy recovers, and the finding that is the reason."""

    node: str
    because: Finding


def due(sweep: Sweep, policy: Policy, inventory: Inventory) -> tuple[Due, ...]:
    """Each node once. Only what is firm, critical and seen by this very sweep counts, and nothing that somebody has
    acknowledged or silenced: a person is at it. A node of which something is unknown is a person's as well.
    """
    local = time.localtime(sweep.at)
    if not policy.hours.holds(local.tm_hour * 60 + local.tm_min):
        return ()
    nodes = select_names(policy.nodes, tuple(inventory.nodes), inventory.groups)
    found: dict[str, Due] = {}
    for one in sweep.tracked:
        name = one.finding.host
        if name in nodes and _is_reason(one, policy) and not _is_unknown(name, sweep):
            found.setdefault(name, Due(node=name, because=one.finding))
    return tuple(found.values())


def _is_reason(one: Tracked, policy: Policy) -> bool:
    certain = one.firm and one.is_seen and not one.is_flapping and one.finding.severity is Severity.CRITICAL
    looked_after = bool(one.acknowledged or one.silenced_until)
    return certain and not looked_after and one.finding.check in policy.findings


def _is_unknown(name: str, sweep: Sweep) -> bool:
    """Of what a recovery looks at. A silent node is not meant: `recover` identifies it through its hypervisor, or refuses."""
    looked_at = {check.name for check in all_checks() if not check.sweeps_only} - set(SILENCES)
    return any(
        one.finding.host == name
        and one.finding.severity is Severity.UNKNOWN
        and one.finding.check in looked_at
        for one in sweep.tracked
    )
