"""The stop of the container never comes back."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import leak_until_stop, mark
from fleetops.lab.trouble import Mark

NAME = "stop-blocks"
SUMMARY = "GPU memory needs a restart, and pct stop never comes back"
EXPLANATION = (
    "lxc-stop --kill waits without limit for the container's first process, which waits for a process in the kernel."
    " It holds the container's lock meanwhile, so no other command gets to it. The stop is given a time; what it has"
    " not done by then is said, and it is left to a person."
)
PLATFORMS = ("lxc",)


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and have the next stop block."""
    broken = BrokenNode(folder, node)
    broken.clear()
    leak_until_stop(broken)
    mark(broken, Mark.STOP_BLOCKS)
