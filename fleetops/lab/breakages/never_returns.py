"""The guest is started again, and never answers."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import leak_until_stop, mark
from fleetops.lab.trouble import Mark

NAME = "never-returns"
SUMMARY = "GPU memory needs a restart, and from its next start on the guest answers nothing"
EXPLANATION = (
    "The start succeeds as far as Proxmox is concerned, and the guest hangs in its boot: no SSH, no agent. It is"
    " waited for up to the deadline that its size allows; then that is said, with what the hypervisor shows."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and have the guest hang from its next boot on."""
    broken = BrokenNode(folder, node)
    broken.clear()
    leak_until_stop(broken)
    mark(broken, Mark.NEVER_RETURNS)
