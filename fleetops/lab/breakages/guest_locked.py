"""A backup has the guest locked at its hypervisor, and GPU memory is held that only a reset there would free."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory

NAME = "guest-locked"
SUMMARY = "a running backup locks the guest on its hypervisor, and GPU memory is held as in gpu-memory-held"
EXPLANATION = (
    "vzdump is at work on this guest: Proxmox shows its lock and a running task. GPU memory is held that only a reset on"
    " the hypervisor, or a restart of the guest, would free, and either would tear the backup. Nothing is unlocked or"
    " stopped: the recovery refuses with the task's name, and is repeated when the backup is done."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and start a backup."""
    broken = BrokenNode(folder, node)
    broken.clear()
    hold_gpu_memory(broken)
    broken.backup("start")
