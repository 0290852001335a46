"""The next service that starts answers nothing any more just after it has said that it is ready."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "hangs-after-ready"
SUMMARY = "no service; the next one that starts stops answering just after it is ready, once"
EXPLANATION = (
    "The node is clean and its service is not there. The next launch comes up and says that it is ready; then its scheduler"
    " waits for ever. All processes live, the port is open, /v1/models answers: only a generation shows that nothing works"
    " (sglang issue 22779). The launch asks for several, gives up on the one that does not come, and ends what it has"
    " started. A second launch works."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Clear the node, and have the next service hang."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.order("hangs-after-ready:0.3")
