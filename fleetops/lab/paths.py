"""Where a lab keeps its files. Standard library only: every command that has `--lab` asks here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


def lab_folder(environ: Mapping[str, str]) -> Path:
    """$FLEETOPS_LAB, else a folder of the caller's own in the temporary folder."""
    if environ.get("FLEETOPS_LAB"):
        return Path(environ["FLEETOPS_LAB"]).absolute()
    return Path(environ.get("TMPDIR") or "/tmp") / f"fleetops-lab-{os.getuid()}"  # noqa: S108 - owner is checked


def lab_inventory(environ: Mapping[str, str]) -> Path:
    """The inventory folder of the lab that `--lab` means."""
    return Layout(lab_folder(environ)).inventory


@dataclass(frozen=True)
class Layout:
    """The files of one lab."""

    folder: Path

    @property
    def record(self) -> Path:
        """What `lab up` decided: process, ports, keys."""
        return self.folder / "lab.json"

    @property
    def log(self) -> Path:
        """What the supervisor prints."""
        return self.folder / "supervisor.log"

    @property
    def inventory(self) -> Path:
        """The fleet as fleetops reads it."""
        return self.folder / "inventory"

    @property
    def state(self) -> Path:
        """Journal and store of commands that use this lab's inventory."""
        return self.folder / "state"

    @property
    def ssh(self) -> Path:
        """Keys, known_hosts and ssh_config."""
        return self.folder / "ssh"

    @property
    def share(self) -> Path:
        """What every host sees read-only: the engine's source (`engine/sglang`) and models (`models`)."""
        return self.folder / "share"

    @property
    def breakages(self) -> Path:
        """Which node was broken, and how."""
        return self.folder / "broken"

    def disk(self, host: str) -> Path:
        """A host's own file system; outlives its restarts."""
        return self.folder / "hosts" / host / "rootfs"

    def run(self, host: str, hypervisor: str = "", guest_id: int | None = None) -> Path:
        """A host's /run/lab; a container's lies in its hypervisor's."""
        if guest_id is not None and hypervisor:
            return self.run(hypervisor) / "guests" / str(guest_id)
        return self.folder / "hosts" / host / "run"
