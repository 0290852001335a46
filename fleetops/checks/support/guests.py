"""The guests of a Proxmox host as its cluster lists them, and how they are called."""

from collections.abc import Iterator

from fleetops.model.fact import Facts
from fleetops.model.fleet import Guest
from fleetops.model.guest import GUESTS, GuestEntry
from fleetops.model.machine import IDENTITY
from fleetops.model.sight import HypervisorSight

TOOLS = {"lxc": "pct", "vm": "qm"}
RUNNING = "running"


def cluster_name(sight: HypervisorSight) -> str:
    """What the cluster calls this host: its short host name (PVE::INotify::nodename); "" where that is not known."""
    identity = sight.facts.value(IDENTITY)
    return identity.hostname.partition(".")[0] if identity else ""


def own_guests(sight: HypervisorSight) -> tuple[GuestEntry, ...]:
    """Those that the cluster's list places on this host; entries that name no host count as this one's."""
    name = cluster_name(sight)
    return tuple(one for one in sight.facts.value(GUESTS) or () if one.node in {"", name})


def nodes_guests(sight: HypervisorSight) -> Iterator[tuple[str, Guest, Facts]]:
    """Each inventory node that is a guest here: its name, its guest, and what was read of that."""
    for name, node in sorted(sight.nodes.items()):
        if node.guest is not None:
            yield name, node.guest, sight.guests.get(name, Facts(sight.hypervisor.name, sight.facts.at))


def called(sight: HypervisorSight, guest_id: int) -> str:
    """`174 (node-174)`: by its inventory name where it has one, else by Proxmox's."""
    named = (name for name, node in sight.nodes.items() if node.guest and node.guest.id == guest_id)
    listed = (one.name for one in sight.facts.value(GUESTS) or () if one.id == guest_id)
    name = next(named, "") or next(listed, "")
    return f"{guest_id} ({name})" if name else str(guest_id)
