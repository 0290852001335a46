"""Guests that Proxmox's high availability has given up, or is fencing: it does nothing more for them by itself.

States: pve-ha-manager, `ha-manager status` (started, stopped, fence, freeze, migrate, relocate, recovery, error, ignored).
"""

from fleetops.checks.support.guests import called, own_guests
from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.guest import GUESTS
from fleetops.model.machine import IDENTITY
from fleetops.model.sight import HypervisorSight

_NAME = "ha-state"
_BAD = {
    "error": "it failed to start or stop, and HA touches it no more until it is disabled once",
    "fence": "its host is being fenced",
    "recovery": "its host was fenced, and HA looks for another one",
}


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding per guest on this host, and per node of the inventory wherever it is by now."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, GUESTS, IDENTITY):
        return unknown
    here = {one.id for one in own_guests(sight)}
    nodes = {node.guest.id for node in sight.nodes.values() if node.guest}
    return [
        told(
            _NAME,
            host,
            Severity.CRITICAL,
            f"guest {one.id} HA {one.ha_state}",
            f"guest {called(sight, one.id)} is in HA state {one.ha_state}: {_BAD[one.ha_state]}",
            run="ha-manager status",
        )
        for one in sight.facts.value(GUESTS) or ()
        if one.ha_state in _BAD and one.id in here | nodes
    ]


CHECK = HypervisorCheck(name=_NAME, title="HA has given up no guest", judge=judge)
