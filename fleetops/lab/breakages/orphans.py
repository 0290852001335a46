"""Ranks whose launcher was killed: they live on under PID 1 and hold the GPUs."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, launchers

NAME = "orphans"
SUMMARY = "the launcher was killed; its ranks live on under PID 1 and hold every GPU, the port is free"
EXPLANATION = (
    "Somebody killed the server by its pid, and the ranks did not die with it (sglang issue 23627: schedulers under PID 1"
    " with 100 GB a GPU). Nothing listens on the port, no launcher is in the process table, and yet every GPU is full: a"
    " new start fails for want of memory. The ranks still heed SIGTERM; they must be found by what they hold, since no"
    " parent leads to them."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Kill the launcher of a service whose ranks outlive it."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve(fault="orphans")
    broken.kill(launchers(broken.look()))
    broken.await_that(lambda: are_orphaned(broken), "its ranks did not outlive the launcher")


def are_orphaned(broken: BrokenNode) -> bool:
    """Exactly the ranks are left, and PID 1 has them."""
    seen = broken.look()
    return len(seen) == broken.ranks and all(each.is_rank and each.ppid == 1 for each in seen)
