"""A GPU has lost data: its memory had errors that it could find and not correct."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import change_gpu

NAME = "ecc-errors"
SUMMARY = "the service runs; one GPU has counted two memory errors more that it could not correct"
EXPLANATION = (
    "Two words of the second GPU's memory came back wrong beyond repair. Whatever had them has lost its data and may answer"
    " nonsense. Only the count since the GPU was made tells, and only who knows what it was before: the sweep after the next"
    " one names what is new, and no single look ever does."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the node's second GPU count two errors."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    change_gpu(broken, broken.host.minors[1], ecc_uncorrected=2)
