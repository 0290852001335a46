"""One GPU asks for a reset; the others are well."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import change_gpu, meddle_with_driver, xid_address

NAME = "one-gpu-wants-reset"
SUMMARY = "the driver's verdict on one GPU is Reset (Xid 154), all else about it looks healthy"
EXPLANATION = (
    "An error that the driver has contained: gpu_recovery_action says Reset for one GPU, while temperature, memory"
    " and even DCGM call it healthy. Only that GPU is reset where its driver lives, and with it whatever the NVLink"
    " rules of its generation name."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Have the driver want a reset of the node's second GPU."""
    broken = BrokenNode(folder, node)
    broken.clear()
    minor = broken.host.minors[1]
    change_gpu(broken, minor, recovery_action="Reset")
    said = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    meddle_with_driver(broken, "log", f"NVRM: Xid (PCI:{xid_address(broken, minor)}): 154, {said}")
