"""Shared memory that a killed service left behind, beside that of a living process which is not to be touched."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "shm"
SUMMARY = "a killed service left its shared memory; segments of a living process lie beside it and must stay"
EXPLANATION = (
    "All processes of the service got SIGKILL at once, so none could unlink its segments: psm_*, nccl-* and sgl_shm_* lie"
    " in /dev/shm, memory that no process's RSS shows and that a relaunch may stumble over (sglang issue 40723). Beside"
    " them lie two segments of the same kinds that belong to a living process of somebody else's, one mapped and one that"
    " only its name ties to it. Its own leftovers are removed, the living owner's stay."
)
PLATFORMS = ("lxc", "vm", "bare")

# Maps one segment, and has another only by name; says so by its own name, and stays.
_OWNER = """
import mmap, os, signal
mapped = os.open("/dev/shm/psm_0badcafe", os.O_RDWR | os.O_CREAT, 0o600)
os.posix_fallocate(mapped, 0, 1 << 20)
memory = mmap.mmap(mapped, 1 << 20)
os.close(mapped)
named = os.open(f"/dev/shm/sgl_shm_lookahead_{os.getpid()}_0badcafe", os.O_RDWR | os.O_CREAT, 0o600)
os.posix_fallocate(named, 0, 1 << 20)
os.close(named)
signal.pause()
"""


def apply(folder: Path, node: str) -> None:
    """Kill a whole service at once, beside a living owner of shared memory."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.spawn("python3", "-c", _OWNER)
    broken.await_that(lambda: len(living_segments(broken)) == 2, "the living owner made no segments")
    broken.serve()
    broken.kill(broken.look())
    broken.await_that(lambda: not broken.look(), "the service did not die")


def living_segments(broken: BrokenNode) -> list[str]:
    """The segments of the living owner."""
    return [name for name in segments(broken) if name.endswith("0badcafe")]


def segments(broken: BrokenNode) -> list[str]:
    """All that lies in the node's /dev/shm."""
    return broken.run("ls", "/dev/shm").split()  # noqa: S108 - looked at
