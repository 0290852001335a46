"""The GPUs as a CUDA process sees them: which there are, what is free, and their files held open."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fleetops.lab.driver import Driver
from fleetops.lab.engine.capacity import MIB
from fleetops.lab.engine.places import Places

_CONTROL = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


@dataclass(frozen=True)
class Device:
    """One visible GPU. `total_mib` is what torch sees, `listed_mib` what nvidia-smi says (the driver keeps a share)."""

    minor: int
    total_mib: int
    listed_mib: int


def visible(places: Places) -> list[Device]:
    """The GPUs whose device files exist here, in the driver's order."""
    here = {
        int(path.name[6:]) for path in places.devices.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)
    }
    return [
        Device(gpu.minor, gpu.total_mib - gpu.reserved_mib, gpu.total_mib)
        for gpu in Driver(places.driver).gpus()
        if gpu.minor in here
    ]


def free_bytes(places: Places, devices: list[Device]) -> list[int]:
    """What torch would report free on each device now."""
    taken = Driver(places.driver).ledger.totals().gpu_mib
    return [(device.total_mib - taken.get(device.minor, 0)) * MIB for device in devices]


def hold(places: Places) -> list[IO[bytes]]:
    """Open every GPU's file and the control files, as each CUDA process does whichever GPU it uses."""
    numbered = sorted(
        each for each in places.devices.glob("nvidia*") if re.fullmatch(r"nvidia\d+", each.name)
    )
    control = [places.devices / name for name in _CONTROL]
    return [_open(path) for path in (*numbered, *control) if path.exists()]


def _open(path: Path) -> IO[bytes]:
    return path.open("r+b", buffering=0)
