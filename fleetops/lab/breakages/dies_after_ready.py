"""The next service that starts dies just after it has said that it is ready."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "dies-after-ready"
SUMMARY = "no service; the next one that starts runs out of GPU memory just after it is ready, once"
EXPLANATION = (
    "The node is clean and its service is not there. The next launch comes up, says that it is ready, and a moment later a"
    " scheduler runs out of GPU memory and takes all of it down: whoever stops looking at the word `ready` reports a"
    " success. The launch is watched, so the death is told with its cause and nothing is left behind. A second launch"
    " works."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Clear the node, and have the next service die."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.order("dies-after-ready:0.3")
