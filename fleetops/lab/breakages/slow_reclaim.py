"""Host memory that comes back late: the kernel unpins it long after the last process is gone."""

import os
from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode, launchers
from fleetops.lab.breakages.orphans import are_orphaned

NAME = "slow-reclaim"
SUMMARY = "orphaned ranks with a host pool: when they are killed, its memory comes back a minute later"
EXPLANATION = (
    "The launcher was killed and its ranks live on with a large pool of pinned host memory. Killing them frees GPUs and"
    " processes at once, but the kernel unpins the pool page by page: for a minute the process table is clean and"
    " MemAvailable is not. A relaunch in that minute would run the node out of memory; a reset would help nothing. It has"
    " to be waited for ($FLEETOPS_LAB_RECLAIM_S changes the minute)."
)
PLATFORMS = ("lxc", "vm", "bare")
_RECLAIM_S = "FLEETOPS_LAB_RECLAIM_S"


def apply(folder: Path, node: str) -> None:
    """Orphan ranks whose pinned memory outlives them."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve(*broken.host_pool(48 if broken.ranks == 8 else 20), fault="slow-reclaim")
    broken.kill(launchers(broken.look()))
    broken.await_that(lambda: are_orphaned(broken), "its ranks did not outlive the launcher")
    broken.care_later("give-back", os.environ.get(_RECLAIM_S, "60"))
