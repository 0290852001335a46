"""VMs with passthrough GPUs: the guest owns the driver; the hypervisor resets the devices at every start.

Sources: facts/recovery.md A0, A3. `qm stop` ends with success without looking whether the emulator is gone; `qm reset` is
no stop and start, and `qm reboot` may end as neither: neither is used. A GPU that is given in slices (`mdev=`) is refused.
"""

from collections.abc import Iterable, Iterator

from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, DeviceClaim, GuestState, same_device
from fleetops.model.units import GIB, MIB
from fleetops.platforms.base import Platform, Power
from fleetops.platforms.support.known import known, on_hypervisor, on_node
from fleetops.platforms.support.node_driver import daemons_in_the_way, own_gpus, reset, reset_host
from fleetops.platforms.support.switching import switch

STOP_S = 120.0
"""qm's own: 60 s for QMP, 10 s after SIGTERM, 1 s after SIGKILL, and its clean-up."""

_LEAST_START_S = 150.0
_LARGE_BYTES = 30720 * MIB
_PER_NIC_S = 5.0
_SLACK_S = 60.0


def tenants(observation: Observation) -> str:
    """Another guest that runs with one of the VM's devices, or has taken one."""
    guest, facts = observation.node.guest, on_hypervisor(observation)
    claims = known(facts, CLAIMS, "which guests use which GPUs", "tenants")
    own = next((claim for claim in claims if guest and claim.guest_id == guest.id), None)
    if own is None or not own.addresses:
        return f"which PCI devices belong to {observation.node.name} is not known{_because(own)}"
    entries = known(facts, GUESTS, "the list of guests", "tenants")
    running = {entry.id for entry in entries if entry.status != "stopped"}
    others = [claim for claim in claims if claim is not own]
    return next(_conflicts(own, others, running, observation.node.name), "")


def start_deadline_s(observation: Observation) -> float:
    """qemu-server's config_aware_timeout, with some slack: a client that gives up earlier abandons a healthy start."""
    guest = _guest(observation)
    memory_bytes = guest.memory_bytes or 0
    seconds = memory_bytes / GIB if memory_bytes > _LARGE_BYTES else 30.0
    if _numbered(guest, "hostpci"):
        seconds *= 4
    seconds += _PER_NIC_S * len(_numbered(guest, "net"))
    return max(_LEAST_START_S, seconds) + _SLACK_S


def is_down(observation: Observation) -> str:
    """Proxmox calls it stopped, and no emulator of it is left: the first alone is what a `qm stop` that lies says too."""
    seen = on_hypervisor(observation).get(GUEST)
    if isinstance(seen, Missing):
        return f"the guest could not be read on {observation.node.hypervisor} ({seen})"
    if seen.init_pid is not None:
        return f"kvm is still there (pid {seen.init_pid}), and Proxmox calls it {seen.status}"
    return "" if seen.status == "stopped" else f"Proxmox calls it {seen.status}"


def _because(own: DeviceClaim | None) -> str:
    if own is None:
        return ": its configuration names none"
    return f": nothing tells what {', '.join(own.unresolved)} stands for" if own.unresolved else ""


def _conflicts(
    own: DeviceClaim, others: Iterable[DeviceClaim], running: set[int], name: str
) -> Iterator[str]:
    if own.unresolved:
        yield f"which PCI devices belong to {name} is not known{_because(own)}"
    for claim in others:
        if shared := _common(own.addresses, claim.reserved):
            yield f"guest {claim.guest_id} has taken {shared} of {name}"
        if claim.guest_id not in running:
            continue
        if shared := _common(own.addresses, claim.addresses):
            yield f"guest {claim.guest_id} is running and has {shared} of {name} too"
        if claim.unresolved and not claim.reserved:
            yield f"guest {claim.guest_id} is running, and nothing tells what {claim.unresolved[0]} of it stands for"
        if own.minors and _has_any(claim, own.minors):
            yield f"guest {claim.guest_id} is running and has a GPU of {name} through the host's driver"


def _has_any(claim: DeviceClaim, minors: tuple[int, ...]) -> bool:
    return claim.minors is None or not set(minors).isdisjoint(claim.minors)


def _common(own: Iterable[str], others: tuple[str, ...]) -> str:
    return next((one for one in own for other in others if same_device(one, other)), "")


def _guest(observation: Observation) -> GuestState:
    return known(on_hypervisor(observation), GUEST, "the guest", "identity")


def _numbered(guest: GuestState, prefix: str) -> list[str]:
    return [key for key in guest.config if key.removeprefix(prefix).isdecimal() and key.startswith(prefix)]


PLATFORM = Platform(
    kind="vm",
    guards=(
        "identity",
        "protected",
        "proxmox-lock",
        "proxmox-task",
        "ha",
        "vgpu",
        "tenants",
        "display",
        "mig",
        "attempts",
    ),
    power_guards=(
        *("identity", "guest-identity", "protected", "proxmox-lock", "proxmox-task", "ha", "pending"),
        *("vgpu", "tenants", "host-memory", "attempts"),
    ),
    reset_host=reset_host,
    driver_facts=on_node,
    gpus=own_gpus,
    tenants=tenants,
    in_the_way=daemons_in_the_way,
    reset=reset,
    power=Power(
        stop=lambda observation: switch("stop", STOP_S, observation),
        start=lambda observation: switch("start", start_deadline_s(observation), observation),
        is_down=is_down,
        start_deadline_s=start_deadline_s,
        resets_gpus=True,
    ),
)
