"""GPU memory is held, and a daemon has the GPUs open: no reset before it has let go."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory
from fleetops.lab.breakages.host_faults import run_persistence_daemon

NAME = "reset-in-use"
SUMMARY = "GPU memory is held as in gpu-memory-held, and the persistence daemon keeps every GPU open"
EXPLANATION = (
    "nvidia-persistenced keeps the devices open so that the driver stays initialised: to a reset it is a client like"
    " any other, which refuses with `In use by another client`. It lets go of a GPU whose persistence mode is switched"
    " off; after the reset the mode is as it was."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and start the persistence daemon."""
    broken = BrokenNode(folder, node)
    broken.clear()
    hold_gpu_memory(broken)
    run_persistence_daemon(broken)
