"""A guest as its Proxmox host reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetops.model.fact import Key
from fleetops.model.units import MIB


@dataclass(frozen=True, kw_only=True)
class GuestState:
    """`pct`/`qm` status and configuration of one guest, with what runs on it at this moment.

    Attributes:
        status: running, stopped, paused, ...
        lock: Proxmox's config lock (backup, snapshot, ...), "" when there is none.
        config: key -> value as configured now; repeated raw `lxc.*` lines are in `raw`.
        raw: the raw `lxc.key: value` lines in their order, keys repeating.
        init_pid: the guest's first process as the hypervisor sees it, of a VM its emulator; None when stopped or not
            told. An emulator that is still there although its VM counts as stopped is told too.
        machine_id: read through the guest's root on the hypervisor; "" where that could not be read.
        held_bytes: memory that a VM's emulator holds, huge pages included; None where that is not told.
        left: of a container, its processes in D state; where it counts as stopped all that are left of it, of a VM its
            emulator.
    """

    kind: str
    id: int
    status: str
    lock: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    raw: tuple[tuple[str, str], ...] = ()
    init_pid: int | None = None
    machine_id: str = ""
    held_bytes: int | None = None
    left: tuple["GuestProcess", ...] = ()

    @property
    def name(self) -> str:
        """The name Proxmox shows."""
        return self.config.get("hostname") or self.config.get("name", "")

    @property
    def memory_bytes(self) -> int | None:
        """What it may take (`memory: 16384`, newer `memory: current=16384`, in MiB); None where that is not told."""
        told = self.config.get("memory", "").removeprefix("current=").partition(",")[0]
        return int(told) * MIB if told.isdecimal() else None


@dataclass(frozen=True, kw_only=True)
class GuestProcess:
    """A container's process as its host counts it."""

    pid: int
    state: str
    comm: str


@dataclass(frozen=True, kw_only=True)
class GuestEntry:
    """One guest in the cluster's resource list. `ha_state` is "" where HA does not manage it; `memory_bytes` is its limit."""

    kind: str
    id: int
    name: str
    status: str
    node: str = ""
    lock: str = ""
    ha_state: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Task:
    """A running Proxmox task."""

    upid: str
    type: str
    id: str
    user: str = ""
    started_at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DeviceClaim:
    """What a guest's configuration gives it of the host's GPUs and PCI devices.

    Attributes:
        minors: GPU device files of the host's driver; None means all of them, or not known which.
        addresses: PCI devices of a VM, mappings resolved; one without a function digit means all its functions.
        reserved: PCI devices that a starting or running VM has reserved at this moment.
        unresolved: what its configuration names and nothing tells the addresses of.
        vgpu: it gets a slice of a GPU (`mdev=`), not the device.
        display: one of its devices is its primary display (`x-vga=1`).
    """

    guest_id: int
    kind: str
    minors: tuple[int, ...] | None
    addresses: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    vgpu: bool = False
    display: bool = False


def same_device(one: str, other: str) -> bool:
    """Whether two PCI addresses have a function in common; an address without one means all functions."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


@dataclass(frozen=True, kw_only=True)
class HostHolder:
    """A process on the hypervisor that has an NVIDIA device file open.

    Attributes:
        guest_id: the container it runs in, by its pid namespace; None for a process of the host itself.
        unit: the systemd service of the host that it runs in, "" where it is in none.
    """

    pid: int
    comm: str
    path: str
    guest_id: int | None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class PendingChange:
    """A change of a guest's configuration that its next start applies; `now` or `then` is None where there is none."""

    key: str
    now: str | None
    then: str | None


@dataclass(frozen=True, kw_only=True)
class Arc:
    """ZFS's cache in a host's memory, which counts as used: how large it is, and how small it lets itself be made."""

    size_bytes: int
    least_bytes: int

    @property
    def returnable_bytes(self) -> int:
        """What it gives back when memory is asked for."""
        return max(0, self.size_bytes - self.least_bytes)


GUEST: Key[GuestState] = Key("guest")
GUESTS: Key[tuple[GuestEntry, ...]] = Key("guests")
TASKS: Key[tuple[Task, ...]] = Key("tasks")
CLAIMS: Key[tuple[DeviceClaim, ...]] = Key("claims")
HOST_HOLDERS: Key[tuple[HostHolder, ...]] = Key("host-holders")
AGENT: Key[str] = Key("guest-agent")
PENDING: Key[tuple[PendingChange, ...]] = Key("pending")
ARC: Key[Arc] = Key("arc")
