"""Where the stand-in finds what the lab provides; every folder can be replaced by the environment."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetops.lab.driver import DRIVER_FOLDER

TRACES = Path("/run/lab/broken")
NEXT_FAULT = TRACES / "next-fault"
FAULT = "SGLANG_LAB_FAULT"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders and knobs of one stand-in service.

    Attributes:
        driver: the lab driver's folder ($FLEETOPS_LAB_DRIVER).
        devices: where nvidia0 and its like lie ($FLEETOPS_LAB_DEVICES).
        shm: where shared memory segments are made ($FLEETOPS_LAB_SHM).
        meminfo: the host's meminfo ($FLEETOPS_LAB_MEMINFO).
        pace: scales every stage of the start; 1 is about four seconds in all ($SGLANG_LAB_PACE).
        fault: what shall go wrong later ($SGLANG_LAB_FAULT): `ghost-leader` (rank 0's main thread ends with the
            launcher, its workers do not), `orphans` (the ranks outlive their launcher), `stubborn` (they do, and
            ignore SIGTERM), `slow-reclaim` (they do, and the host memory that they have pinned outlives them),
            `dies-after-ready` (a scheduler runs out of GPU memory), `hangs-after-ready` (it answers nothing any
            more), or nothing.
        fault_after_s: how long after being ready the last two strike; `FAULT:SECONDS` in the environment.
    """

    driver: Path = DRIVER_FOLDER
    devices: Path = Path("/dev")
    shm: Path = Path("/dev/shm")  # noqa: S108 (shared memory is what is meant)
    meminfo: Path = Path("/proc/meminfo")
    pace: float = 1.0
    fault: str = ""
    fault_after_s: float = 3.0


def places(environ: Mapping[str, str] = os.environ) -> Places:
    """The places that the environment names, else those of a lab host."""
    usual = Places()
    fault, _, after_s = environ.get(FAULT, "").partition(":")
    return Places(
        driver=Path(environ.get("FLEETOPS_LAB_DRIVER", usual.driver)),
        devices=Path(environ.get("FLEETOPS_LAB_DEVICES", usual.devices)),
        shm=Path(environ.get("FLEETOPS_LAB_SHM", usual.shm)),
        meminfo=Path(environ.get("FLEETOPS_LAB_MEMINFO", usual.meminfo)),
        pace=float(environ.get("SGLANG_LAB_PACE", usual.pace)),
        fault=fault,
        fault_after_s=float(after_s or usual.fault_after_s),
    )


def ordered_fault() -> dict[str, str]:
    """What a breakage has ordered for the next service that starts on this host; it strikes once."""
    with contextlib.suppress(FileNotFoundError):
        fault = NEXT_FAULT.read_text()
        NEXT_FAULT.unlink()
        return {FAULT: fault}
    return {}
