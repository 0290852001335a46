"""A guest as its Proxmox host reports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetops.model.fact import Key


@dataclass(frozen=True, kw_only=True)
class GuestState:
    """`pct`/`qm` status and configuration of one guest, with what runs on it at this moment.

    Attributes:
        status: running, stopped, paused, ...
        lock: Proxmox's config lock (backup, snapshot, ...), "" when there is none.
        config: key -> value as configured now; repeated raw `lxc.*` lines are in `raw`.
        raw: the raw `lxc.key: value` lines in their order, keys repeating.
        init_pid: the guest's first process as the hypervisor sees it; None when stopped or not told.
        machine_id: read through the guest's root on the hypervisor; "" where that could not be read.
    """

    kind: str
    id: int
    status: str
    lock: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    raw: tuple[tuple[str, str], ...] = ()
    init_pid: int | None = None
    machine_id: str = ""

    @property
    def name(self) -> str:
        """The name Proxmox shows."""
        return self.config.get("hostname") or self.config.get("name", "")


@dataclass(frozen=True, kw_only=True)
class GuestEntry:
    """One guest in the cluster's resource list. `ha_state` is "" where HA does not manage it."""

    kind: str
    id: int
    name: str
    status: str
    node: str = ""
    lock: str = ""
    ha_state: str = ""


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
    """GPU device files that a guest's configuration gives it. `minors` None means all of the host's GPUs."""

    guest_id: int
    kind: str
    minors: tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True)
class HostHolder:
    """A process on the hypervisor that has an NVIDIA device file open.

    Attributes:
        guest_id: the container it runs in, by its pid namespace; None for a process of the host itself.
    """

    pid: int
    comm: str
    path: str
    guest_id: int | None


GUEST: Key[GuestState] = Key("guest")
GUESTS: Key[tuple[GuestEntry, ...]] = Key("guests")
TASKS: Key[tuple[Task, ...]] = Key("tasks")
CLAIMS: Key[tuple[DeviceClaim, ...]] = Key("claims")
HOST_HOLDERS: Key[tuple[HostHolder, ...]] = Key("host-holders")
