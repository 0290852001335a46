"""A GPU has left the NVSwitch fabric: what runs goes on, and nothing new starts on it."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import change_gpu, meddle_with_driver

NAME = "fabric-down"
SUMMARY = "the service runs; one GPU waits to join the NVSwitch fabric, and a switch has reported an error of a link"
EXPLANATION = (
    "The Fabric Manager was restarted and has not set up one GPU again: its fabric state is `In Progress`. The service that"
    " runs has its contexts and answers; whatever starts now fails in cuInit with error 802. The kernel's log has an SXid of"
    " a switch, not fatal. nvidia-smi lists every GPU as before, so nobody looks until the next launch."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the node's second GPU wait for the fabric."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    change_gpu(broken, broken.host.minors[1], fabric="In Progress")
    said = "12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"
    meddle_with_driver(broken, "log", f"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): {said}")
