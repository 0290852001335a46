"""What must be shown to hold, from facts, immediately before a change.

A guard returns why it does not hold, or "" when it is proven to. A fact that is missing proves nothing: it refuses.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from fleetops.model.errors import Refused
from fleetops.model.fact import Key
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.guest import ARC, CLAIMS, GUEST, GUESTS, PENDING, TASKS, PendingChange, Task
from fleetops.model.machine import MEMORY
from fleetops.model.units import show_gb
from fleetops.platforms import platform_of
from fleetops.platforms.support.known import known, on_hypervisor
from fleetops.playbook.attempts import attempts, refuse
from fleetops.playbook.identity import guest_identity, identity
from fleetops.playbook.mend import mend
from fleetops.steps.support.base import Situation

T = TypeVar("T")
Guard = Callable[[Observation], str]

# The guards an operator may overrule by name; the others are never waived.
WAIVABLE = ("attempts", "size", "proof")


def refusal(name: str, observation: Observation) -> str:
    """Why the guard `name` does not hold for this observation; "" when it does."""
    found = objection(name, observation)
    return found.message if found else ""


def first_objection(names: Iterable[str], situation: Situation) -> Refused | None:
    """The first refusal of these guards, but for those that the operator has waived; None when all hold."""
    own = (situation.run_id, *situation.continues)
    asked = (name for name in names if name not in WAIVABLE or name not in situation.waived)
    return next((one for name in asked if (one := objection(name, situation.observation, own))), None)


def objection(name: str, observation: Observation, own: Collection[str] = ()) -> Refused | None:
    """The refusal of the guard `name`, with what to do about it; None when it holds.

    `own`: the run that asks, and those that it goes on from: their attempts are one.
    """
    if name == "attempts":
        return refuse(observation, own)
    hint = ""
    try:
        why = GUARDS[name](observation)
    except Refused as error:
        why, hint = error.message, error.hint
    if not why:
        return None
    hint = hint or mend(name, observation, why)
    return Refused(why, guard=name, host=observation.node.name, hint=hint)


def _on_hypervisor(observation: Observation, key: Key[T], what: str) -> T:
    return known(on_hypervisor(observation), key, what, "")


def proxmox_lock(observation: Observation) -> str:
    """Proxmox itself holds no lock on the guest (a backup, a snapshot)."""
    guest = _on_hypervisor(observation, GUEST, "the guest")
    if not guest.lock:
        return ""
    tasks = (observation.hypervisor_facts.value(TASKS) if observation.hypervisor_facts else None) or ()
    because = f"; running: {_tasks(tasks)}" if tasks else ""
    return f"guest {guest.id} is locked by Proxmox ({guest.lock}) on {observation.node.hypervisor}{because}"


def proxmox_task(observation: Observation) -> str:
    """No Proxmox task is running on the guest."""
    tasks = _on_hypervisor(observation, TASKS, "running tasks")
    return f"Proxmox is running a task on the guest: {_tasks(tasks)}" if tasks else ""


def _tasks(tasks: Iterable[Task]) -> str:
    return ", ".join(f"{task.type} ({task.upid})" for task in tasks)


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


def pending(observation: Observation) -> str:
    """No change of the configuration waits for the next start: a restart would apply it."""
    changes = _on_hypervisor(observation, PENDING, "pending changes of the guest's configuration")
    if not changes:
        return ""
    told = "; ".join(_change(one) for one in changes)
    return f"a restart would apply changes to guest {_guest_id(observation)} that wait for one: {told}"


def _change(change: PendingChange) -> str:
    if change.then is None:
        return f"{change.key} ({change.now}) is to go"
    return f"{change.key} is to be {change.then}" + (f" (now {change.now})" if change.now is not None else "")


def vgpu(observation: Observation) -> str:
    """The guest has whole devices: a slice of a GPU that others share is neither reset nor started anew."""
    claims = _on_hypervisor(observation, CLAIMS, "which guests use which GPUs")
    sliced = any(claim.vgpu for claim in claims if claim.guest_id == _guest_id(observation))
    return f"guest {_guest_id(observation)} has a vGPU (mdev=): that is not supported" if sliced else ""


def host_memory(observation: Observation) -> str:
    """The hypervisor has the memory that the VM takes when it starts: free, ZFS's cache, and what the VM holds now."""
    guest = _on_hypervisor(observation, GUEST, "the guest")
    memory = _on_hypervisor(observation, MEMORY, "its memory")
    arc = observation.hypervisor_facts.value(ARC) if observation.hypervisor_facts else None
    needed, held = guest.memory_bytes, guest.held_bytes or 0
    if needed is None:
        return (
            f"how much memory guest {guest.id} takes is not known ({guest.config.get('memory', 'not told')})"
        )
    returnable = arc.returnable_bytes if arc else 0
    if memory.available_bytes + returnable + held >= needed:
        return ""
    return (
        f"guest {guest.id} takes {show_gb(needed)} when it starts, and {observation.node.hypervisor} would have"
        f" {show_gb(memory.available_bytes)} available, {show_gb(returnable)} of ZFS's cache and {show_gb(held)}"
        f" that the guest holds now"
    )


def tenants(observation: Observation) -> str:
    """Nobody else uses the node's GPUs: no other guest, and no process of the host that owns the driver."""
    return platform_of(observation.node).tenants(observation)


def display(observation: Observation) -> str:
    """No display runs on the node's GPUs."""
    shown = [gpu.bdf for gpu in _own_gpus(observation) if gpu.display_active]
    return f"a display is active on GPU {', '.join(shown)}" if shown else ""


def mig(observation: Observation) -> str:
    """No GPU of the node is split by MIG: a reset would take the instances with it."""
    split = [gpu.bdf for gpu in _own_gpus(observation) if gpu.mig]
    return f"MIG is on for GPU {', '.join(split)}" if split else ""


def _own_gpus(observation: Observation) -> tuple[Gpu, ...]:
    return platform_of(observation.node).gpus(observation)


def _guest_id(observation: Observation) -> int | None:
    return observation.node.guest.id if observation.node.guest else None


def protected(observation: Observation) -> str:
    """Neither the node nor its hypervisor is marked protected in the inventory."""
    hosts = (observation.node, observation.hypervisor)
    named = next((host.name for host in hosts if host and host.protected), "")
    return f"{named} is protected in the inventory" if named else ""


GUARDS: Mapping[str, Guard] = {
    "identity": identity,
    "guest-identity": guest_identity,
    "protected": protected,
    "proxmox-lock": proxmox_lock,
    "proxmox-task": proxmox_task,
    "ha": ha,
    "pending": pending,
    "vgpu": vgpu,
    "host-memory": host_memory,
    "tenants": tenants,
    "display": display,
    "mig": mig,
    "attempts": attempts,
}
