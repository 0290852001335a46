"""The stop of the VM succeeds, and its emulator lives on."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import leak_until_stop, mark
from fleetops.lab.trouble import Mark

NAME = "stop-lies"
SUMMARY = "GPU memory needs a restart, and qm stop exits with 0 while kvm lives on with the GPUs"
EXPLANATION = (
    "qm stop sends `quit`, waits, sends TERM and KILL, removes the pid file and exits with 0 without looking whether"
    " kvm is gone. Here it waits in the kernel for the devices: qm status says stopped, the process is there, and a"
    " start would find the GPUs busy. Only the old pid's end proves a stop."
)
PLATFORMS = ("vm",)


def apply(folder: Path, node: str) -> None:
    """Leave memory taken, and have the next stop lie."""
    broken = BrokenNode(folder, node)
    broken.clear()
    leak_until_stop(broken)
    mark(broken, Mark.STOP_LIES)
