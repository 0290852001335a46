"""The PCI bus of a lab's machine as sysfs shows it: its GPUs, each with a driver and all of its lanes."""

from collections.abc import Mapping
from pathlib import Path

from fleetops.lab.fleet import LabHost, gpus_of, guests_of

DEVICES = "sys/bus/pci/devices"
CURRENT_WIDTH = "current_link_width"
# An H20: NVIDIA, 3D controller, its own number (pci_ids.h; NVIDIA's list of supported products).
_WORDS = {
    "vendor": "0x10de",
    "class": "0x030200",
    "device": "0x2329",
    CURRENT_WIDTH: "16",
    "max_link_width": "16",
}


def passed_address(number: int) -> str:
    """Where the GPU that a VM gets as `hostpciN` is on its hypervisor's bus."""
    return f"0000:{0x41 + number:02x}:00.0"


def bus_of(host: LabHost) -> Mapping[str, str]:
    """Address -> driver of each GPU on a machine's bus; a container has its hypervisor's, and none here."""
    passed = [guest for guest in guests_of(host.name) if guest.kind == "vm"]
    own = {gpu.bdf[4:].lower(): "nvidia" for gpu in gpus_of(host)}
    return own | {passed_address(n): "vfio-pci" for guest in passed for n in range(len(guest.minors))}


def write_bus(disk: Path, host: LabHost) -> None:
    """Lay it out below a host's file system."""
    for address, driver in bus_of(host).items():
        folder = disk / DEVICES / address
        folder.mkdir(parents=True)
        for name, word in _WORDS.items():
            (folder / name).write_text(f"{word}\n")
        (folder / "driver").symlink_to(f"../../drivers/{driver}")
