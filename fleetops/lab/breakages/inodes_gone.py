"""A disk has room left and takes no further file."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "inodes-gone"
SUMMARY = "the service runs; a file system of the node has room, and not an inode left"
EXPLANATION = (
    "Something wrote a small file for each request into /var/log until the file system had no inode for another one. `df` shows"
    " it nearly empty. The service runs; what is started next cannot make its log and fails with `No space left on device`, and"
    " whoever looks at the space finds plenty."
)
PLATFORMS = ("lxc", "vm", "bare")
USED_UP = "/var/log"


def apply(folder: Path, node: str) -> None:
    """Start a service, and use up the inodes."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    broken.care("use-inodes", USED_UP)
