"""GPU memory that a reset does not give back while the guest runs."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import leak_until_stop

NAME = "vram-needs-restart"
SUMMARY = "GPU memory is held that a reset leaves as it is; only a reset while the guest is stopped frees it"
EXPLANATION = (
    "Killed while it loaded, the engine has left memory that the driver counts to the guest itself: the reset"
    " succeeds and the memory is still taken. It goes when the guest is stopped: a container's GPUs are then reset on"
    " the hypervisor, a VM's by Proxmox when it starts."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Leave memory taken."""
    broken = BrokenNode(folder, node)
    broken.clear()
    leak_until_stop(broken)
