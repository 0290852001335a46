"""A GPU that works, and is on its way not to."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import change_gpu, meddle_with_guest
from fleetops.lab.pci import passed_address

NAME = "gpu-ailing"
SUMMARY = "one GPU is too hot and slowed down, on half its lanes, with two NVLinks down and a remap pending"
EXPLANATION = (
    "The service runs and answers, only slower: its second GPU is two degrees from where it slows itself down, its hardware"
    " has begun to, its PCI Express link came up with 8 of 16 lanes, 2 of its 18 NVLinks are down, and a row of its memory"
    " waits for a reset to be replaced. None of that is an error yet, and no single look would stop anybody: a sweep names"
    " each with what to do."
)
PLATFORMS = ("lxc", "vm", "bare")
_LANES = 8


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the node's second GPU ail."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    change_gpu(
        broken,
        broken.host.minors[1],
        temperature_c=87,
        slowed_by=["hw_slowdown", "hw_thermal_slowdown"],
        lanes=_LANES,
        nvlinks=16,
        remap_pending=True,
    )
    if broken.host.kind == "vm":  # whose own root port does not show the physical link
        meddle_with_guest(broken, "lanes", passed_address(1), str(_LANES))
