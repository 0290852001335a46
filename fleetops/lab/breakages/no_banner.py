"""sshd takes connections and says nothing: a machine that is up and cannot be asked."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import mark
from fleetops.lab.trouble import Mark

NAME = "no-banner"
SUMMARY = "port 22 accepts and no SSH banner comes, until the guest is started again"
EXPLANATION = (
    "A global out-of-memory situation wedges sshd: the kernel completes the TCP handshake, and nobody ever writes the"
    " banner. The machine is not down: its hypervisor says that the guest runs. Without SSH nothing on the node can be"
    " stopped by a signal, so the guest is identified and restarted through its hypervisor. Bare metal has none, and"
    " needs a person."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Have the node's SSH server say nothing."""
    broken = BrokenNode(folder, node)
    broken.clear()
    mark(broken, Mark.MUTE)
