"""The guest wants a restart, and high availability manages it."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import mark, meddle_with_guest
from fleetops.lab.trouble import Mark

NAME = "ha-managed"
SUMMARY = "no SSH banner as in no-banner, and the guest is managed by Proxmox's high availability"
EXPLANATION = (
    "What HA manages it also starts and stops: `pct stop` only asks it to, and a guest that is ended past it is"
    " started somewhere else. So the recovery refuses and names the state; whoever runs the cluster takes the guest"
    " out of HA first."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Give the guest to HA, and silence its SSH server."""
    broken = BrokenNode(folder, node)
    broken.clear()
    meddle_with_guest(broken, "ha")
    mark(broken, Mark.MUTE)
