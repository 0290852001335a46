"""Another machine answers as the node."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import mark
from fleetops.lab.trouble import Mark

NAME = "wrong-machine"
SUMMARY = "another machine answers on the node's port, with the right host key and the wrong machine-id"
EXPLANATION = (
    "A cloned image, or an address that was given away: SSH connects, the key is the right one, and it is not the"
    " machine that was meant. Whatever is done there is done to somebody else. The machine-id differs from the"
    " inventory's and from the one that the hypervisor reads in the guest; the recovery says both and changes nothing."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Have the node's port lead to another machine."""
    broken = BrokenNode(folder, node)
    broken.clear()
    other = "node-174" if node != "node-174" else "node-190"
    mark(broken, Mark.IMPOSTOR, other)
