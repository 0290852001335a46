"""Containers: the Proxmox host owns the GPU driver, so the reset is issued there, after every user of the GPUs is gone.

`pct stop` kills the container's first process and then waits without limit: with a process in D state it never ends, and
it holds the container's lock. It is time-boxed, and what counts is what is left (facts/recovery.md A0, A1, A5).
"""

from fleetops.engines.attribution import attribute
from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, HOST_HOLDERS, DeviceClaim
from fleetops.model.machine import HOLDERS
from fleetops.model.plan import Action
from fleetops.platforms.base import Platform, Power
from fleetops.platforms.support.known import all_there, known, on_hypervisor, whole_report
from fleetops.platforms.support.reset_call import reset_action
from fleetops.platforms.support.services import DeviceUser, is_borne, told, units_to_stop
from fleetops.platforms.support.switching import switch

STOP_S = 60.0
START_S = 120.0
"""A container's own boot is seconds; its storage and hooks may take a while."""


def reset_host(observation: Observation) -> str:
    """The Proxmox host."""
    return observation.node.hypervisor


def own_gpus(observation: Observation) -> tuple[Gpu, ...]:
    """The GPUs on the host whose device files the container is configured with."""
    seen = whole_report(on_hypervisor(observation))
    own = _own_claim(observation)
    if own is None:
        return ()
    gpus = tuple(gpu for gpu in seen.gpus if own.minors is None or gpu.minor in own.minors)
    return all_there(observation, gpus, reset_host(observation))


def tenants(observation: Observation) -> str:
    """Another running guest with one of the node's GPUs, or a process outside the container that has one open."""
    minors = _own_minors(observation)
    if not minors:
        return f"which GPUs belong to {observation.node.name} is not known"
    return _claimed_by_others(observation, minors) or _held_by_others(observation, minors)


def reset(observation: Observation, gpus: tuple[Gpu, ...]) -> Action:
    """On the host, its own services stopped meanwhile."""
    units = units_to_stop(on_hypervisor(observation), _host_users(observation))
    return reset_action(reset_host(observation), gpus, units)


def in_the_way(observation: Observation) -> str:
    """A daemon inside the container: the host's services can be stopped for a reset, the container's are not touched."""
    paths = {one.pid: one.path for one in observation.node_facts.value(HOLDERS) or ()}
    inside = next((one for one in attribute(observation).daemons if one.pid in paths), None)
    if inside is None:
        return ""
    name = observation.node.name
    return f"process {inside.pid} ({inside.comm}) in {name} holds {paths[inside.pid]}: stop it there first"


def is_down(observation: Observation) -> str:
    """Stopped in Proxmox's eyes, its first process gone, and no other left (a process in D state outlives it)."""
    seen = on_hypervisor(observation).get(GUEST)
    if isinstance(seen, Missing):
        return f"the guest could not be read on {observation.node.hypervisor} ({seen})"
    if seen.left:
        first = seen.left[0]
        state = " in D state, which no signal ends" if first.state == "D" else ""
        return f"{len(seen.left)} of its processes are left: {first.pid} ({first.comm}){state}"
    if seen.status != "stopped" or seen.init_pid is not None:
        pid = f", its first process is {seen.init_pid}" if seen.init_pid is not None else ""
        return f"Proxmox calls it {seen.status}{pid}"
    return ""


def _own_claim(observation: Observation) -> DeviceClaim | None:
    guest = observation.node.guest
    return next((claim for claim in _claims(observation) if guest and claim.guest_id == guest.id), None)


def _claims(observation: Observation) -> tuple[DeviceClaim, ...]:
    return known(on_hypervisor(observation), CLAIMS, "which guests use which GPUs", "tenants")


def _own_minors(observation: Observation) -> set[int]:
    """The device minors (N of /dev/nvidiaN) that the container is configured with; all of the host's if so."""
    own = _own_claim(observation)
    if own is None:
        return set()
    if own.minors is not None:
        return set(own.minors)
    seen = whole_report(on_hypervisor(observation))
    return {gpu.minor for gpu in seen.gpus if gpu.minor is not None}


def _claimed_by_others(observation: Observation, minors: set[int]) -> str:
    guest = observation.node.guest
    entries = known(on_hypervisor(observation), GUESTS, "the list of guests", "tenants")
    running = {entry.id for entry in entries if entry.status != "stopped"}
    for claim in _claims(observation):
        shared = minors if claim.minors is None else minors.intersection(claim.minors)
        if shared and claim.guest_id in running and guest and claim.guest_id != guest.id:
            cards = ", ".join(map(str, sorted(shared)))
            return f"guest {claim.guest_id} is running and has GPU {cards} of {observation.node.name} too"
    return ""


def _held_by_others(observation: Observation, minors: set[int]) -> str:
    guest, facts = observation.node.guest, on_hypervisor(observation)
    ours = {f"/dev/nvidia{minor}" for minor in minors}
    for holder in known(facts, HOST_HOLDERS, "who holds the GPUs", "tenants"):
        if holder.path not in ours or (guest and holder.guest_id == guest.id):
            continue
        user = DeviceUser(holder.pid, holder.comm, holder.path, holder.unit)
        if holder.guest_id is not None:
            return told(user, f"guest {holder.guest_id}", facts.host)
        if not is_borne(user, facts):
            return told(user, "the host itself", facts.host)
    return ""


def _host_users(observation: Observation) -> tuple[DeviceUser, ...]:
    holders = known(on_hypervisor(observation), HOST_HOLDERS, "who holds the GPUs", "tenants")
    return tuple(DeviceUser(one.pid, one.comm, one.path, one.unit) for one in holders if one.guest_id is None)


PLATFORM = Platform(
    kind="lxc",
    guards=(
        "identity",
        "protected",
        "proxmox-lock",
        "proxmox-task",
        "ha",
        "tenants",
        "display",
        "mig",
        "attempts",
    ),
    power_guards=(
        *("identity", "protected", "proxmox-lock", "proxmox-task", "ha", "pending"),
        *("tenants", "display", "mig", "attempts"),
    ),
    reset_host=reset_host,
    driver_facts=on_hypervisor,
    gpus=own_gpus,
    tenants=tenants,
    in_the_way=in_the_way,
    reset=reset,
    power=Power(
        stop=lambda observation: switch("stop", STOP_S, observation),
        start=lambda observation: switch("start", START_S, observation),
        is_down=is_down,
        start_deadline_s=lambda _: START_S,
        resets_gpus=False,
    ),
)
