"""A VM with two passthrough GPUs and a bare machine, as their facts would tell of them."""

from dataclasses import replace
from typing import Any

from node_scenes import NODE, gpu, memory, observe

from fleetops.model.attempts import ATTEMPTS
from fleetops.model.errors import Silence
from fleetops.model.fact import Gap, Key, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Guest
from fleetops.model.gpu import GPUS, Gpus
from fleetops.model.guest import (
    AGENT,
    ARC,
    CLAIMS,
    GUEST,
    GUESTS,
    PENDING,
    TASKS,
    DeviceClaim,
    GuestEntry,
    GuestState,
)
from fleetops.model.machine import IDENTITY, MEMORY, Identity
from fleetops.model.units import GB

MACHINE_ID = "0123456789abcdef0123456789abcdef"
VM = replace(NODE, name="node-181", hypervisor="pve-02", guest=Guest(kind="vm", id=181), gpus=2)
BARE = replace(NODE, name="node-190", hypervisor="", guest=None, gpus=2)
GUEST_181 = GuestState(
    kind="vm",
    id=181,
    status="running",
    config={"name": "node-181", "memory": "65536", "hostpci0": "mapping=gpus", "net0": "virtio=..."},
    init_pid=5120,
    held_bytes=64 * GB,
)
OURS = DeviceClaim(guest_id=181, kind="vm", minors=(), addresses=("0000:4f:00.0", "0000:50:00"))
ENTRIES = (
    GuestEntry(kind="vm", id=181, name="node-181", status="running"),
    GuestEntry(kind="vm", id=182, name="node-182", status="running"),
    GuestEntry(kind="vm", id=183, name="node-183", status="stopped"),
)
NO_BANNER = Missing(Gap.UNREACHABLE, "TCP is accepted, no SSH banner comes", reason=Silence.NO_BANNER)


def identity(**fields: Any) -> Identity:
    settled = {"hostname": "node-181", "machine_id": MACHINE_ID, "boot_id": "b1", "uptime_s": 1e6, **fields}
    return Identity(**settled)


def own_gpus(**fields: Any) -> Gpus:
    return Gpus(driver_version="570", gpus=(gpu(0, **fields), gpu(1, **fields)))


def vm(
    *processes, node=VM, facts: dict[Key[Any], Any] | None = None, beside: dict[Key[Any], Any] | None = None
) -> Observation:
    """The VM with nothing wrong, but for what `facts` (in the guest) and `beside` (on its hypervisor) say."""
    on_hypervisor = {
        GUEST: GUEST_181, GUESTS: ENTRIES, TASKS: (), CLAIMS: (OURS,), PENDING: (), AGENT: MACHINE_ID,
        MEMORY: memory(20), ARC: Missing(Gap.ABSENT, "no ZFS"),
    }  # fmt: skip
    return observe(
        *processes,
        node=node,
        facts={IDENTITY: identity(), GPUS: own_gpus(), **(facts or {})},
        on_hypervisor={**on_hypervisor, **(beside or {})},
    )


def bare(*processes, facts: dict[Key[Any], Any] | None = None) -> Observation:
    """The bare machine with nothing wrong, but for what `facts` say."""
    readings = {IDENTITY: identity(hostname="node-190"), GPUS: own_gpus(), ATTEMPTS: (), **(facts or {})}
    return replace(observe(*processes, node=BARE, facts=readings), hypervisor=None, hypervisor_facts=None)


def claim(guest_id: int, *addresses: str, **fields: Any) -> DeviceClaim:
    return DeviceClaim(**{"guest_id": guest_id, "kind": "vm", "minors": (), "addresses": addresses, **fields})


def silent(observation: Observation, gap: Missing = NO_BANNER) -> Observation:
    """The same node, saying nothing at all."""
    facts = observation.node_facts
    return replace(observation, node_facts=replace(facts, readings=dict.fromkeys(facts.readings, gap)))
