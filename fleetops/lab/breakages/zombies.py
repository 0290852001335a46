"""A service whose ranks are dead and not reaped: its memory is free, but the server hangs and keeps them as zombies."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, ranks_of, zombies

NAME = "zombies"
SUMMARY = "all ranks killed under a launcher that does not reap them and hangs; GPU memory is free"
EXPLANATION = (
    "The ranks were killed, and the launcher does not reap them (SGLang 0.5.9 never does). GPU and host memory are free,"
    " but the launcher holds the port and waits for an answer that no rank will give: requests hang, and so does its own"
    " shutdown on SIGTERM. The dead ranks leave the process table only when the launcher is killed."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Kill every rank of a healthy service, and let the launcher wait for an answer."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve()
    broken.kill(ranks_of(broken.look()))
    broken.await_that(lambda: len(zombies(broken.look())) == broken.ranks, "the ranks did not die")
    broken.ask()
