"""A backup has the guest locked at its hypervisor, and GPU memory is held that only a reset there would free."""

from pathlib import Path

from fleetops.lab.breakages.base import BreakageFailed, BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory

NAME = "guest-locked"
SUMMARY = "a running backup locks the guest on its hypervisor, and GPU memory is held as in gpu-memory-held"


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and start a backup. Raises BreakageFailed where the node is nobody's guest."""
    broken = BrokenNode(folder, node)
    if not broken.host.hypervisor:
        raise BreakageFailed(f"{node} is bare metal: no hypervisor can lock it", host=node)
    broken.clear()
    hold_gpu_memory(broken)
    broken.backup("start")
