"""The lab's stand-in for the NVIDIA driver: which GPUs there are, and who has taken what memory.

Standard library only, nothing else of fleetops: it runs inside the lab's hosts too, where it is imported as
`fleetops.lab.driver` from /opt/fleetops-lab/lib. All of it is files in one folder (`/run/lab/driver`), which a
hypervisor shares with its containers as they share the real driver:

    gpus.json            the GPUs, which never change
    state/<minor>.json   what does: persistence mode, recovery action, whether it is lost, how often it was reset
    faults.json          what is wrong with the driver as a whole
    ledger/<name>.json   one file for each process that took memory

`fleetops.lab.ledger` is the last of these.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetops.lab.kernel_log import clear_log, log_kernel
from fleetops.lab.ledger import DRIVER_FOLDER, HOST, Entry, Holding, Ledger, Totals, current_guest

__all__ = ["DRIVER_FOLDER", "HOST", "Entry", "Holding", "Ledger", "Totals", "current_guest"]

VERSION = "570.133.20"
CUDA_VERSION = "12.8"
LANES = 16
NVLINKS = 18
_ASKED_FOR = {"Reset": "0x1 (GPU Reset Required)", "Reboot": "0x2 (Node Reboot Required)"}


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver knows it for ever.

    Attributes:
        bdf: PCI address with an eight-digit domain, as nvidia-smi prints it (`00000000:1A:00.0`).
        total_mib: what nvidia-smi calls total.
        reserved_mib: the driver's own share of it.
        idle_mib: what shows as used while nobody uses it.
    """

    minor: int
    uuid: str
    bdf: str
    name: str
    total_mib: int
    reserved_mib: int
    idle_mib: int


@dataclass(frozen=True)
class GpuState:
    """What changes about a GPU.

    Attributes:
        recovery_action: None, Reset, Reboot, Drain P2P, Drain and Reset.
        lost: it has fallen off the bus.
        reset_fails: no reset of it succeeds.
        resets: how often it was reset.
        remap_pending: a row of its memory waits for a reset to be replaced.
        temperature_c: what it has whatever it does; None for what its use makes of it.
        slowed_by: why it is slowed down, in the words of nvidia-smi's report.
        lanes: of its PCI Express link; nvlinks: how many of those are up.
        fabric: its state in the NVSwitch fabric.
        ecc_uncorrected: errors of its memory since it was made that could not be corrected.
    """

    persistence: bool = True
    recovery_action: str = "None"
    lost: bool = False
    reset_fails: bool = False
    resets: int = 0
    remap_pending: bool = False
    temperature_c: int | None = None
    slowed_by: tuple[str, ...] = ()
    lanes: int = LANES
    nvlinks: int = NVLINKS
    fabric: str = "Completed"
    ecc_uncorrected: int = 0


@dataclass(frozen=True)
class Faults:
    """What is wrong with the driver as a whole.

    Attributes:
        hangs: whoever asks it never comes back from the kernel.
        mismatch: guests (or `host`) whose library is of another release than the kernel's module.
    """

    hangs: bool = False
    mismatch: tuple[str, ...] = ()


class Driver:
    """The GPUs of one driver and their state."""

    def __init__(self, folder: Path = DRIVER_FOLDER) -> None:
        self._folder = folder
        self.ledger = Ledger(folder)

    def gpus(self) -> list[Gpu]:
        """All GPUs, by minor. Raises FileNotFoundError where no driver is loaded."""
        return [Gpu(**each) for each in json.loads((self._folder / "gpus.json").read_text())]

    def state(self, minor: int) -> GpuState:
        """A GPU's changeable state; the defaults where nothing was ever changed."""
        path = self._folder / "state" / f"{minor}.json"
        told = json.loads(path.read_text()) if path.exists() else {}
        return GpuState(**{**told, "slowed_by": tuple(told.get("slowed_by", ()))})

    def set_state(self, minor: int, **changes: Any) -> None:
        """Change a GPU's state; readers see the old or the new, never a mixture."""
        _replace(self._folder / "state" / f"{minor}.json", {**vars(self.state(minor)), **changes})

    def faults(self) -> Faults:
        """What is wrong with the driver now."""
        path = self._folder / "faults.json"
        if not path.exists():
            return Faults()
        told = json.loads(path.read_text())
        return Faults(hangs=told["hangs"], mismatch=tuple(told["mismatch"]))

    def set_faults(self, **changes: Any) -> None:
        """Change what is wrong with the driver."""
        _replace(self._folder / "faults.json", {**vars(self.faults()), **changes})

    def reset(self, minors: Iterable[int], *, stopped: Iterable[str] = ()) -> list[int]:
        """Reset GPUs that nobody uses; those that were. Leaked memory is free, no recovery action is asked for.

        `stopped`: the guests of this driver that do not run.
        """
        done = [minor for minor in minors if not self.state(minor).reset_fails]
        self.ledger.forget_leaks(done, stopped=stopped)
        for minor in done:
            self._log_reset(minor)
            resets = self.state(minor).resets + 1
            self.set_state(minor, recovery_action="None", lost=False, remap_pending=False, resets=resets)
        return done

    def heal(self, minor: int) -> None:
        """As if nothing had ever been wrong with a GPU; who uses it and how often it was reset stays as it is."""
        was = self.state(minor)
        self.set_state(minor, **{**vars(GpuState()), "persistence": was.persistence, "resets": was.resets})

    def _log_reset(self, minor: int) -> None:
        """What the kernel's log has of a reset, and of the driver's verdict, which is `None` again."""
        address = next(gpu.bdf for gpu in self.gpus() if gpu.minor == minor)[4:].lower()
        said = [f"nvidia {address}: reset done"]
        if (asked := self.state(minor).recovery_action) in _ASKED_FOR:
            changed = f"GPU recovery action changed from {_ASKED_FOR[asked]} to 0x0 (None)"
            said.append(f"NVRM: Xid (PCI:{address.removesuffix('.0')}): 154, {changed}")
        log_kernel(self._folder, *said)

    def reload(self) -> None:
        """What a boot of its own machine does: nothing of the driver's software is as it was, nothing is pinned."""
        self.set_faults(**vars(Faults()))
        self.ledger.forget_host_memory()
        clear_log(self._folder)


def create(folder: Path, gpus: Iterable[Gpu]) -> None:
    """Lay out a driver's folder."""
    for each in ("state", "ledger"):
        (folder / each).mkdir(parents=True)
    (folder / "gpus.json").write_text(json.dumps([vars(gpu) for gpu in gpus]))


def _replace(path: Path, record: Mapping[str, Any]) -> None:
    """At once: readers see the old or the new, never a mixture."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(record))
    fresh.rename(path)
