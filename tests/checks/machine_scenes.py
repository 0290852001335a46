"""Nodes and Proxmox hosts as a sweep sees them: with a clock, a kernel's log, disks, a past and the shipped thresholds."""

from dataclasses import replace
from typing import Any

from node_scenes import HYPERVISOR, NODE, memory, observe

from fleetops.inventory.thresholds import thresholds_for
from fleetops.model.disk import FILE_SYSTEMS, FileSystem, FileSystems
from fleetops.model.fact import Facts, Gap, Key, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Guest
from fleetops.model.guest import ARC, CLAIMS, GUEST, GUESTS, PENDING, TASKS, GuestEntry, GuestState
from fleetops.model.kernel import KERNEL_LOG, KernelLine, KernelLog
from fleetops.model.machine import ANSWERED, CLOCK, FAILED_UNITS, IDENTITY, MEMORY, Answered, Clock, Identity
from fleetops.model.past import Past, Sample
from fleetops.model.sight import HypervisorSight
from fleetops.model.units import GB

NOW = 1_764_450_000.0
UP_S = 3.5e6
SWEPT = Past(swept_at=NOW - 300, every_s=300.0, words={"boot-id": "b"})
NO_SYSTEMD = Missing(Gap.ABSENT, "no systemd runs on this host")


def log(*lines: tuple[float, str], **fields: Any) -> KernelLog:
    """A log of the whole boot; `lines` are seconds ago and text, oldest first."""
    settled = {
        "source": "journal",
        "begins_at": NOW - UP_S,
        "booted_at": NOW - UP_S,
        "boot_id": "b",
        **fields,
    }
    return KernelLog(lines=tuple(KernelLine(at=NOW - ago, text=text) for ago, text in lines), **settled)


def file_system(mount: str, used: float, *, size_gb: float = 500, **fields: Any) -> FileSystem:
    """`used`: the share in percent."""
    size = round(size_gb * GB)
    taken = round(size * used / 100)
    settled = {"inodes": 1_000_000, "inodes_free": 900_000, **fields}
    return FileSystem(
        mount=mount, source="x", size_bytes=size, used_bytes=taken, available_bytes=size - taken, **settled
    )


def disks(*mounted: FileSystem, unread: tuple[str, ...] = ()) -> FileSystems:
    return FileSystems(mounted=mounted, unread=unread)


SHM = file_system("/dev/shm", 1, size_gb=220)
ROOT = file_system("/", 40)


def machine_readings() -> dict[Key[Any], Any]:
    """What a sweep reads beside the rest, of a host with nothing wrong."""
    return {
        CLOCK: Clock(epoch_s=NOW),
        ANSWERED: Answered(seconds=2.0),
        FILE_SYSTEMS: disks(ROOT, SHM),
        FAILED_UNITS: (),
        KERNEL_LOG: log(),
    }


def swept(
    *processes: Any,
    facts: dict[Key[Any], Any] | None = None,
    on_hypervisor: dict[Key[Any], Any] | None = None,
    past: Past = SWEPT,
    **more: Any,
) -> Observation:
    """A node as a sweep sees it; single readings replaced."""
    seen = observe(
        *processes,
        facts={**machine_readings(), **(facts or {})},
        on_hypervisor={**machine_readings(), **(on_hypervisor or {})},
        **more,
    )
    beside = seen.hypervisor_facts
    return replace(
        seen,
        node_facts=replace(seen.node_facts, at=NOW),
        hypervisor_facts=replace(beside, at=NOW) if beside else None,
        past=past,
        thresholds=thresholds_for("NVIDIA H20"),
    )


def bare(*processes: Any, **more: Any) -> Observation:
    """The same of a machine that is nobody's guest: its kernel is its own."""
    node = replace(NODE, hypervisor="", guest=None)
    return replace(swept(*processes, node=node, **more), hypervisor_facts=None)


def series(*available_gb: float, every_s: float = 300.0) -> Past:
    """What was available at the last sweeps, the latest one `every_s` ago."""
    samples = tuple(
        Sample(at=NOW - every_s * ago, value=gb * GB)
        for ago, gb in zip(range(len(available_gb), 0, -1), available_gb, strict=True)
    )
    return replace(SWEPT, series={"mem-available-bytes": samples}, every_s=every_s)


# Proxmox hosts.

VM_NODE = replace(NODE, name="node-181", guest=Guest(kind="vm", id=181))
NODES = {"node-174": NODE, "node-181": VM_NODE}


def entry(guest_id: int, *, kind: str = "lxc", **fields: Any) -> GuestEntry:
    settled = {
        "name": f"node-{guest_id}",
        "status": "running",
        "node": "pve-01",
        "memory_bytes": 200 * GB,
        **fields,
    }
    return GuestEntry(kind=kind, id=guest_id, **settled)


def state(guest_id: int = 174, *, kind: str = "lxc", **fields: Any) -> GuestState:
    return GuestState(kind=kind, id=guest_id, **{"status": "running", "config": {"hostname": "x"}, **fields})


def guest_facts(**readings: Any) -> Facts:
    """Of one node's guest, by the names of the keys."""
    keys = {"guest": GUEST, "tasks": TASKS, "pending": PENDING}
    settled = {"guest": state(), "tasks": (), "pending": (), **readings}
    return Facts("pve-01", NOW, {keys[name].name: value for name, value in settled.items()})


IDENTITY_OF_HOST = Identity(hostname="pve-01", machine_id="77", boot_id="b", uptime_s=UP_S)
GUESTS_OF_HOST = (entry(174), entry(181, kind="vm"))


def sight(
    facts: dict[Key[Any], Any] | None = None, guests: dict[str, Facts] | None = None, past: Past = SWEPT
) -> HypervisorSight:
    """A Proxmox host with a container and a VM, and nothing wrong."""
    readings = {
        **machine_readings(),
        IDENTITY: IDENTITY_OF_HOST,
        MEMORY: memory(300, total_bytes=512 * GB),
        ARC: Missing(Gap.ABSENT, "no ZFS is loaded on this host"),
        GUESTS: GUESTS_OF_HOST,
        CLAIMS: (),
        **(facts or {}),
    }
    told = {"node-174": guest_facts(), "node-181": guest_facts(guest=state(181, kind="vm")), **(guests or {})}
    return HypervisorSight(
        hypervisor=HYPERVISOR,
        facts=Facts("pve-01", NOW, {key.name: value for key, value in readings.items()}),
        guests=told,
        nodes=NODES,
        past=past,
        thresholds=thresholds_for(),
    )
