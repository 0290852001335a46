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
    "A `pct set` or `qm set` hangs on its storage and keeps the lock file of the guest's configuration: every other"
    " command waits ten seconds and fails with `got timeout`. The configuration shows no lock, and a `set` is no task, so"
    " nothing told of it before. The lock is not taken away from its holder: the refusal is passed on with the file's"
    " name, and nothing is changed."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Hold the guest's lock file, and silence its SSH server."""
    broken = BrokenNode(folder, node)
    broken.clear()
    meddle_with_guest(broken, "lock")
    mark(broken, Mark.MUTE)
