"""A GPU that holds memory belongs to another running guest too."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory
from fleetops.lab.breakages.host_faults import meddle_with_guest
from fleetops.lab.fleet import guests_of

NAME = "shared-gpu"
SUMMARY = "GPU memory is held, and a GPU of the node is in another running container's configuration as well"
EXPLANATION = (
    "Containers share their host's driver, and Proxmox lets two have the same device file. A reset would take the GPU"
    " from under the other one's work. The recovery names that guest and changes nothing."
)
PLATFORMS = ("lxc",)


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and give one of the GPUs to a neighbour too."""
    broken = BrokenNode(folder, node)
    broken.clear()
    hold_gpu_memory(broken)
    other = next(
        each for each in guests_of(broken.host.hypervisor) if each.name != node and each.kind == "lxc"
    )
    meddle_with_guest(broken, "claim", str(other.guest_id), str(broken.host.minors[1]))
