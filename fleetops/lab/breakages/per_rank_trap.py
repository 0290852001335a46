"""The incident: a host pool believed to be for the node is taken by every rank, and the node runs out of memory."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, ghosts, ranks_of, zombies

NAME = "per-rank-trap"
SUMMARY = "started by hand with --hicache-size 300, which is per rank: memory gone, ranks dead, launcher hung"
EXPLANATION = (
    "--hicache-size was believed to be for the node and is for each rank. Every rank judges alone that it fits, all pin at"
    " once, and the kernel starts to kill: some ranks are zombies, some are zombie leaders whose threads still hold memory,"
    " one is stuck in D, and the launcher waits for a word that never comes. Memory is gone though no process shows it, the"
    " GPUs are full, the port answers nothing."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start the engine too big, and wait until it is wedged."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.start([*broken.host_pool(_size_gb(broken)), "--enable-metrics"])
    broken.await_that(lambda: _is_wedged(broken), "the ranks did not run the node out of memory")


def _size_gb(broken: BrokenNode) -> int:
    """The incident's 300; on a smaller node what each rank alone still judges to fit."""
    return 300 if broken.ranks == 8 else int(broken.host.idle_bytes * 0.7 / 1e9)


def _is_wedged(broken: BrokenNode) -> bool:
    """Every rank dead, a ghost or stuck, and at least one of each kind that so many ranks have."""
    ranks = ranks_of(broken.look())
    stuck = [each for each in ranks if each.state == "D"]
    gone = len(zombies(ranks)) + len(ghosts(ranks)) + len(stuck)
    return bool(stuck) and gone == len(ranks) == broken.ranks
