"""A device that was passed to the VM did not come back from its last reset."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import log_on_hypervisor

NAME = "not-reset"
SUMMARY = (
    "the service runs; a passed-through device did not come back from its reset, says the host's kernel log"
)
EXPLANATION = (
    "When the VM was last started, vfio reset one of its devices and waited in vain for it. To Proxmox that is a warning, and"
    " the VM was started all the same. The device is dead until the host is rebooted or power-cycled, and the next start of"
    " the VM may fail. Only the host's kernel log tells."
)
PLATFORMS = ("vm",)
_DEVICE = "0000:9a:00.0"


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the hypervisor's kernel tell of the device."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    log_on_hypervisor(broken, f"vfio-pci {_DEVICE}: not ready 65535ms after FLR; giving up")
