"""One rank's main thread is gone while its workers live: ps shows a zombie, the memory and the port stay held."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, ghosts, launchers

NAME = "ghost-leader"
SUMMARY = "launcher gone; one rank is a zombie leader whose threads hold memory, GPU and port 30000"
EXPLANATION = (
    "The launcher is gone. One rank's main thread has ended and its workers have not: /proc shows a zombie with no memory"
    " and no files, `fuser` and `lsof` pass over it, and yet its threads hold a GPU, pinned host memory and the port. Who"
    " takes a zombie for dead looks for the holder in vain; SIGKILL to the leader ends its threads and frees it all."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Kill the launcher of a service whose first rank outlives it in part."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve(*(broken.host_pool(48) if broken.ranks == 8 else ()), fault="ghost-leader")
    broken.kill(launchers(broken.look()))
    broken.await_that(lambda: _is_haunted(broken), "no zombie leader remained")


def _is_haunted(broken: BrokenNode) -> bool:
    seen = broken.look()
    return len(seen) == len(ghosts(seen)) == 1
