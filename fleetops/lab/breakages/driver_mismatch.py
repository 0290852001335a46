"""The driver's library and its kernel module are of two releases."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_driver

NAME = "driver-mismatch"
SUMMARY = "nvidia-smi: Driver/library version mismatch; no reset helps"
EXPLANATION = (
    "The user-space driver was updated and the loaded module was not, or a container carries another release than its"
    " host. Nothing that uses the GPUs can start, and what runs already goes on. No reset changes that: the module is"
    " loaded anew, or the container's library brought to the host's release, by a person."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Have the node's library differ from the module."""
    broken = BrokenNode(folder, node)
    broken.clear()
    meddle_with_driver(broken, "mismatch")
