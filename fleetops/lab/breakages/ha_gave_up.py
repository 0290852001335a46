"""High availability has given the guest up."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_guest

NAME = "ha-gave-up"
SUMMARY = "the service runs; high availability has given the guest up and does nothing for it any more"
EXPLANATION = (
    "HA tried to start the guest somewhere and failed too often; somebody has started it by hand since. In state error HA"
    " touches it no more: when its host dies, nothing brings it back. It looks protected and is not."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Start a service, and have HA give the guest up."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    meddle_with_guest(broken, "ha", "error")
