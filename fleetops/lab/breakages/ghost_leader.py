"""One rank's main thread is gone while its workers live: ps shows a zombie, the memory and the port stay held."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, ghosts, launchers

NAME = "ghost-leader"
SUMMARY = "launcher gone; one rank is a zombie leader whose threads hold memory, GPU and port 30000"


def apply(folder: Path, node: str) -> None:
    """Kill the launcher of a service whose first rank outlives it in part."""
    broken = BrokenNode(folder, node)
    broken.clear()
    flags = ["--enable-hierarchical-cache", "--hicache-size", "48", "--enable-metrics"]
    broken.start(flags if broken.ranks == 8 else flags[-1:], environment=["SGLANG_LAB_FAULT=ghost-leader"])
    broken.await_ready()
    broken.run("kill", "-KILL", *(str(each.pid) for each in launchers(broken.look())))
    broken.await_that(lambda: _is_haunted(broken), "no zombie leader remained")


def _is_haunted(broken: BrokenNode) -> bool:
    seen = broken.look()
    return len(seen) == len(ghosts(seen)) == 1
