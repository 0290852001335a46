"""One GPU has fallen off the bus; the others work."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import change_gpu, meddle_with_driver, xid_address

NAME = "one-gpu-lost"
SUMMARY = "one GPU has fallen off the bus (Xid 79): the list of GPUs is one short, every query complains"
EXPLANATION = (
    "Power, heat or a bad slot: the device no longer answers on PCI Express. nvidia-smi -L complains and lists the"
    " others, a query stops at the complaint. A reset needs a device that answers, so none helps where the driver runs"
    " on the machine itself: that is for a person. A VM gives the device back to its host when it stops, and may find"
    " it again at its next start."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Lose the node's second GPU."""
    broken = BrokenNode(folder, node)
    broken.clear()
    minor = broken.host.minors[1]
    address = xid_address(broken, minor)
    change_gpu(broken, minor, lost=True)
    said = "GPU has fallen off the bus."
    meddle_with_driver(
        broken,
        "log",
        f"NVRM: Xid (PCI:{address}): 79, pid='<unknown>', name=<unknown>, {said}",
        f"NVRM: GPU {address}.0: {said}",
    )
