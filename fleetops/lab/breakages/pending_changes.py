"""The guest's next start would not bring back what runs now."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_guest

NAME = "pending-changes"
SUMMARY = "the service runs; the guest's configuration has changes that its next start will put in force"
EXPLANATION = (
    "Somebody gave the guest another amount of memory and meant to restart it at night. Nothing shows it on the node: it"
    " runs with what it was started with. A recovery that has to restart the guest would put the change in force at the"
    " worst moment, and the profile that fitted may not fit any more. `pct pending` and `qm pending` tell."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Start a service, and change the guest's memory for its next start."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    meddle_with_guest(broken, "pend", f"memory: {broken.host.total_bytes // 2 // 2**20}")
