"""The kernel has called a task blocked."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_driver

NAME = "hung-task"
SUMMARY = "the service runs; the kernel has told of a task that was blocked for two minutes"
EXPLANATION = (
    "A backup of the engine's logs waited two minutes for storage that did not answer, and the kernel said so. It has gone"
    " on since. The next rank that writes its log to that storage may wait as long, in D state, where no signal reaches it."
    " A container's kernel log is its hypervisor's."
)
PLATFORMS = ("lxc", "vm", "bare")
_TOLD = (
    "INFO: task rsync:48377 blocked for more than 122 seconds.",
    "      Tainted: P           O       6.8.12-10-pve #1",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
)


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the kernel tell of a task."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    meddle_with_driver(broken, "log", *_TOLD)
