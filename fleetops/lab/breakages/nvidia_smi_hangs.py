"""Whoever asks the driver waits in the kernel for ever."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_driver

NAME = "nvidia-smi-hangs"
SUMMARY = "a monitoring's nvidia-smi is in D and never comes back; each further one would hang as well"
EXPLANATION = (
    "The driver's GPU firmware no longer answers: nvidia-smi waits in the kernel in state D, where real ones survive"
    " SIGKILL (the lab's end by it). A second one would only be the next in the pile, so none is started while the"
    " first is there. A container's driver is its hypervisor's and serves its neighbours: a person decides. A VM's"
    " driver goes with the VM."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Have the driver hang, and somebody's monitoring ask it."""
    broken = BrokenNode(folder, node)
    broken.clear()
    meddle_with_driver(broken, "hang")
    pid = broken.spawn("nvidia-smi", "-q")
    broken.await_that(lambda: ") D " in broken.run("cat", f"/proc/{pid}/stat"), "nvidia-smi came back")
