"""The guest wants a restart, and something holds its lock file."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import mark, meddle_with_guest
from fleetops.lab.trouble import Mark

NAME = "lock-file-timeout"
SUMMARY = (
    "no SSH banner as in no-banner, and another process holds the lock that every pct and qm command takes"
)
EXPLANATION = (
    "Some Proxmox command on this guest hangs and keeps the lock file of its configuration: every other waits ten"
    " seconds and fails with `got timeout`. There is no lock in the configuration and no entry of a backup. The lock"
    " is not taken away from its holder: the recovery names it and changes nothing."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Hold the guest's lock file, and silence its SSH server."""
    broken = BrokenNode(folder, node)
    broken.clear()
    meddle_with_guest(broken, "lock")
    mark(broken, Mark.MUTE)
