"""The inventory's nouns: hosts, guests, groups and launch profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fleetops.model.own_check import OwnCheck
from fleetops.model.policy import Policy
from fleetops.model.thresholds import ThresholdRules

GuestKind = Literal["lxc", "vm"]


@dataclass(frozen=True, kw_only=True)
class Guest:
    """A node as its hypervisor knows it."""

    kind: GuestKind
    id: int


@dataclass(frozen=True, kw_only=True)
class Host:
    """Anything reached over SSH. An empty `user` or None `port` leaves the choice to ssh_config."""

    name: str
    address: str
    user: str = ""
    port: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    machine_id: str = ""
    protected: bool = False


@dataclass(frozen=True, kw_only=True)
class Hypervisor(Host):
    """A Proxmox host."""


@dataclass(frozen=True, kw_only=True)
class Node(Host):
    """A machine that runs an engine. `gpus` None means: not stated, so the count cannot be judged."""

    hypervisor: str = ""
    guest: Guest | None = None
    gpus: int | None = None
    engine: str = "sglang"
    source: str = ""
    profile: str = ""


FlagUnit = Literal["GB", "GiB", "MB", "MiB", "bytes", "tokens", "blocks", "ratio", "fraction"]
FlagScope = Literal["per-rank", "total", "per-node"]
FlagValue = bool | int | float | str

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One launch flag. `name` has underscores; `value` `auto` leaves the size to the sizing."""

    name: str
    value: FlagValue
    unit: FlagUnit | None = None
    scope: FlagScope | None = None

    def is_in_force(self, value: str | None) -> bool:
        """Whether a command line's value (None: not there) is this flag's; a switch has none there, or `true`."""
        if isinstance(self.value, bool):
            return (
                not self.value
                if value is None
                else value.lower() in ({"", "true"} if self.value else {"false"})
            )
        return value is not None and (self.value == AUTO or value == str(self.value))


@dataclass(frozen=True, kw_only=True)
class HostMemory:
    """What of a node's memory a launch must leave alone: for loading, and for the node itself."""

    reserve_bytes: int = 40 * 10**9
    floor_bytes: int = 16 * 10**9


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How a service is launched."""

    name: str
    engine: str
    model: str
    ranks: int
    port: int
    command: tuple[str, ...] = ("python3",)
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    host_memory: HostMemory = field(default_factory=HostMemory)
    ready_deadline_s: float = 900.0
    watch_s: float = 120.0

    def flag(self, name: str) -> Flag | None:
        """The flag of that name; hyphens and underscores are the same."""
        wanted = name.lstrip("-").replace("-", "_")
        return next((flag for flag in self.flags if flag.name == wanted), None)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where this inventory keeps its SSH files and state (empty means the user's own), and what holds for the whole fleet.

    Attributes:
        breaker: with so many nodes under recovery or failed, no other one is recovered.
    """

    ssh_config: Path | None = None
    known_hosts: Path | None = None
    state: Path | None = None
    breaker: int = 3


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The whole fleet as its files describe it."""

    path: Path
    nodes: Mapping[str, Node]
    hypervisors: Mapping[str, Hypervisor] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    thresholds: ThresholdRules = field(default_factory=ThresholdRules)
    checks: Mapping[str, OwnCheck] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)

    def host(self, name: str) -> Node | Hypervisor:
        """The host of that name. Raises KeyError."""
        return self.nodes[name] if name in self.nodes else self.hypervisors[name]
