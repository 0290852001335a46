"""GPU memory is held, and a reset of the GPU that holds it fails every time."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory
from fleetops.lab.breakages.host_faults import change_gpu

NAME = "reset-fails"
SUMMARY = "GPU memory is held, and every reset of one of its GPUs fails"
EXPLANATION = (
    "The GPU does not come back from its function-level reset: nvidia-smi says so with status 255, and at the start"
    " of a VM Proxmox only warns that the device could not be reset. Every rung is tried; the guest runs again, and"
    " what is left is said: the machine wants a person."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Leave memory taken on a GPU that no reset frees."""
    broken = BrokenNode(folder, node)
    broken.clear()
    hold_gpu_memory(broken)
    change_gpu(broken, broken.host.minors[1], reset_fails=True)
