"""The disk on which engine logs are kept is full."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "full-disk"
SUMMARY = "no service, and not a byte is free where its log would be kept"
EXPLANATION = (
    "Something filled /var/log, and the service that logged there ended. Nothing of it is left: GPUs, memory and port are"
    " free. A relaunch would start, fail to write its log, and leave nobody a word to read; so it is refused before it"
    " starts, with the place and what is free there. What fills a disk is for a person to judge."
)
PLATFORMS = ("lxc", "vm", "bare")
FULL = "/var/log"


def apply(folder: Path, node: str) -> None:
    """Fill the disk of a node without a service."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.care("fill", FULL)
