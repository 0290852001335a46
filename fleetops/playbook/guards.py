"""What must be shown to hold, from facts, immediately before a change.

A guard returns why it does not hold, or "" when it is proven to. A fact that is missing proves nothing: it refuses.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from fleetops.engines.support.protected import serves_driver
from fleetops.model.fact import Facts, Key, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, HOST_HOLDERS, TASKS
from fleetops.model.machine import IDENTITY

T = TypeVar("T")
Guard = Callable[[Observation], str]

# The guards an operator may overrule by name; the others are never waived.
WAIVABLE = ("attempts", "size", "proof")


class _NotKnownError(Exception):
    """A fact that a guard rests on is missing."""


def refusal(name: str, observation: Observation) -> str:
    """Why the guard `name` does not hold for this observation; "" when it does."""
    try:
        return GUARDS[name](observation)
    except _NotKnownError as error:
        return str(error)


def _known(facts: Facts | None, key: Key[T], what: str, host: str) -> T:
    if facts is None:
        raise _NotKnownError(f"{what} cannot be known: the inventory names no hypervisor")
    seen = facts.get(key)
    if isinstance(seen, Missing):
        raise _NotKnownError(f"{what} could not be read on {host} ({seen})")
    return seen


def _on_hypervisor(observation: Observation, key: Key[T], what: str) -> T:
    return _known(observation.hypervisor_facts, key, what, observation.node.hypervisor)


def identity(observation: Observation) -> str:
    """The machine that answers is the node that is meant: machine-id, guest id and name agree."""
    node = observation.node
    seen = _known(observation.node_facts, IDENTITY, "its identity", node.name)
    if node.machine_id and seen.machine_id != node.machine_id:
        return (
            f"another machine answers as {node.name}: its machine-id is {seen.machine_id or 'empty'},"
            f" recorded is {node.machine_id}"
        )
    return _same_guest(observation, seen.machine_id, seen.hostname) if node.guest else ""


def _same_guest(observation: Observation, machine_id: str, hostname: str) -> str:
    node, guest = observation.node, _on_hypervisor(observation, GUEST, "the guest")
    where = f"guest {guest.id} on {node.hypervisor}"
    if guest.machine_id and guest.machine_id != machine_id:
        return (
            f"{where} is not the machine that answers as {node.name}: its machine-id is {guest.machine_id},"
            f" the node's {machine_id or 'empty'}"
        )
    if not guest.machine_id and guest.kind == "lxc":
        return f"the machine-id of {where} could not be read"
    if guest.name and guest.name.partition(".")[0] != hostname.partition(".")[0]:
        return f"{where} is called {guest.name}, the node calls itself {hostname}"
    return ""


def proxmox_lock(observation: Observation) -> str:
    """Proxmox itself holds no lock on the guest (a backup, a snapshot)."""
    guest = _on_hypervisor(observation, GUEST, "the guest")
    return (
        f"guest {guest.id} is locked by Proxmox ({guest.lock}) on {observation.node.hypervisor}"
        if guest.lock
        else ""
    )


def proxmox_task(observation: Observation) -> str:
    """No Proxmox task is running on the guest."""
    tasks = _on_hypervisor(observation, TASKS, "running tasks")
    running = ", ".join(f"{task.type} ({task.upid})" for task in tasks)
    return f"Proxmox is running a task on the guest: {running}" if running else ""


def ha(observation: Observation) -> str:
    """High availability does not manage the guest: it would act against us."""
    guest = observation.node.guest
    entries = _on_hypervisor(observation, GUESTS, "the list of guests")
    entry = next((entry for entry in entries if guest and entry.id == guest.id), None)
    if entry is None:
        return f"{observation.node.name} is not in the list of guests on {observation.node.hypervisor}"
    managed = entry.ha_state not in {"", "ignored"}
    return (
        f"guest {entry.id} is managed by HA (state {entry.ha_state}), which would act against this"
        if managed
        else ""
    )


def tenants(observation: Observation) -> str:
    """No other guest and no process of the host itself uses the node's GPUs."""
    minors = node_minors(observation)
    if not minors:
        return f"which GPUs belong to {observation.node.name} is not known"
    return _claimed_by_others(observation, minors) or _held_by_others(observation, minors)


def node_minors(observation: Observation) -> set[int]:
    """The device minors (N of /dev/nvidiaN) that the node's guest is configured with; all of the host's if so."""
    guest = observation.node.guest
    claims = _on_hypervisor(observation, CLAIMS, "which guests use which GPUs")
    own = next((claim for claim in claims if guest and claim.guest_id == guest.id), None)
    if own is None:
        return set()
    if own.minors is not None:
        return set(own.minors)
    return {gpu.minor for gpu in _host_gpus(observation) if gpu.minor is not None}


def _claimed_by_others(observation: Observation, minors: set[int]) -> str:
    guest = observation.node.guest
    entries = _on_hypervisor(observation, GUESTS, "the list of guests")
    running = {entry.id for entry in entries if entry.status != "stopped"}
    for claim in _on_hypervisor(observation, CLAIMS, "which guests use which GPUs"):
        shared = minors if claim.minors is None else minors.intersection(claim.minors)
        if shared and claim.guest_id in running and guest and claim.guest_id != guest.id:
            cards = ", ".join(map(str, sorted(shared)))
            return f"guest {claim.guest_id} is running and has GPU {cards} of {observation.node.name} too"
    return ""


def _held_by_others(observation: Observation, minors: set[int]) -> str:
    guest = observation.node.guest
    ours = {f"/dev/nvidia{minor}" for minor in minors}
    for holder in _on_hypervisor(observation, HOST_HOLDERS, "who holds the GPUs"):
        if holder.path in ours and (guest is None or holder.guest_id != guest.id):
            where = "the host itself" if holder.guest_id is None else f"guest {holder.guest_id}"
            mend = (
                f"; it serves the driver: stop it on {observation.node.hypervisor} first"
                if serves_driver(holder.comm)
                else ""
            )
            return f"process {holder.pid} ({holder.comm}) of {where} holds {holder.path}{mend}"
    return ""


def display(observation: Observation) -> str:
    """No display runs on the node's GPUs."""
    shown = [gpu.bdf for gpu in _own_gpus(observation) if gpu.display_active]
    return f"a display is active on GPU {', '.join(shown)}" if shown else ""


def mig(observation: Observation) -> str:
    """No GPU of the node is split by MIG: a reset would take the instances with it."""
    split = [gpu.bdf for gpu in _own_gpus(observation) if gpu.mig]
    return f"MIG is on for GPU {', '.join(split)}" if split else ""


def _own_gpus(observation: Observation) -> list[Gpu]:
    minors = node_minors(observation)
    return [gpu for gpu in _host_gpus(observation) if gpu.minor in minors]


def _host_gpus(observation: Observation) -> tuple[Gpu, ...]:
    return _on_hypervisor(observation, GPUS, "the GPUs").gpus


def protected(observation: Observation) -> str:
    """Neither the node nor its hypervisor is marked protected in the inventory."""
    hosts = (observation.node, observation.hypervisor)
    named = next((host.name for host in hosts if host and host.protected), "")
    return f"{named} is protected in the inventory" if named else ""


GUARDS: Mapping[str, Guard] = {
    "identity": identity,
    "protected": protected,
    "proxmox-lock": proxmox_lock,
    "proxmox-task": proxmox_task,
    "ha": ha,
    "tenants": tenants,
    "display": display,
    "mig": mig,
}
