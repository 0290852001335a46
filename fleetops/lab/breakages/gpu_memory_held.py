"""GPU memory held by nobody: no process is left, and only a reset where the driver lives gives it back."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "gpu-memory-held"
SUMMARY = "no process at all, yet several GPUs' memory stays taken until they are reset"
EXPLANATION = (
    "A process died hard, and the driver kept what it had: several GPUs show tens of GiB in use and not one process. There"
    " is nothing to kill. Only a reset gives the memory back, where the driver lives: on the hypervisor for a container, in"
    " the guest for a VM, on the machine itself for bare metal."
)
PLATFORMS = ("lxc", "vm", "bare")
_HELD_MIB = 94838  # what a rank of the incident's service has


def apply(folder: Path, node: str) -> None:
    """Leave memory taken on every third GPU."""
    broken = BrokenNode(folder, node)
    broken.clear()
    hold_gpu_memory(broken)


def hold_gpu_memory(broken: BrokenNode) -> None:
    """Leak memory on every third GPU of the node, from the second on."""
    broken.care("leak", *(f"{minor}:{_HELD_MIB}" for minor in broken.host.minors[1::3]))
