"""The kernel's log tells of a GPU's trouble before anything else does."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_driver, xid_address

NAME = "xid"
SUMMARY = "the service runs, and the kernel's log has an Xid 119 of one GPU: its firmware did not answer"
EXPLANATION = (
    "The driver waited in vain for the GPU's own processor (GSP) and wrote Xid 119. The GPU is still listed, nvidia-smi"
    " shows nothing, requests are answered; the next call that needs the firmware hangs or fails. NVIDIA's catalogue asks"
    " for a reset. Only the kernel's log tells of it: a container's is its hypervisor's."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the kernel tell of the node's second GPU."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    address = xid_address(broken, broken.host.minors[1])
    said = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d4 0x4)."
    meddle_with_driver(broken, "log", f"NVRM: Xid (PCI:{address}): 119, pid=4130, name=python3, {said}")
