"""A service that is there in every respect, and answers no request."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "not-generating"
SUMMARY = "all processes live, the port is open, GPUs and memory are as they should be, and no token ever comes"
EXPLANATION = (
    "A scheduler waits for ever in a collective (sglang issue 22779). The process table is whole, the port takes"
    " connections, /v1/models answers, the GPUs hold what a service holds; monitoring that looks at any of these is"
    " content, and the users wait. Only asking for a token shows it."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start a service that stops answering just after it is ready."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile(fault="hangs-after-ready:0.1")
