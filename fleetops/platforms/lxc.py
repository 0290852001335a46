"""Containers: the Proxmox host owns the GPU driver, so the reset is issued there, after every user of the GPUs is gone.

Sources: facts/recovery.md A0, A1. GPUs are named by UUID (enumeration order may change between boots); persistence
mode counts as a client and blocks the reset, so it is switched off where it was on, and restored afterwards.
"""

from fleetops.model.command import Command
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.guest import CLAIMS
from fleetops.model.plan import Action
from fleetops.platforms.base import Platform, Reset

# A function-level reset of one GPU takes seconds, eight one after the other under a minute; a failing one needs more
# than 130 s until the kernel gives up (facts/recovery.md A3).
RESET_DEADLINE_S = 180.0


def reset_host(observation: Observation) -> str:
    """The Proxmox host."""
    return observation.node.hypervisor


def own_gpus(observation: Observation) -> tuple[Gpu, ...]:
    """The GPUs on the host whose device files the container is configured with."""
    node = observation.node
    facts = observation.hypervisor_facts or Facts(node.hypervisor, 0.0)
    seen, claims = facts.get(GPUS), facts.get(CLAIMS)
    if isinstance(seen, Missing):
        raise _unknown(observation, "the GPUs", seen)
    if isinstance(claims, Missing):
        raise _unknown(observation, "which guests use which GPUs", claims)
    own = next((claim for claim in claims if node.guest and claim.guest_id == node.guest.id), None)
    if own is None:
        return ()
    return tuple(gpu for gpu in seen.gpus if own.minors is None or gpu.minor in own.minors)


def _unknown(observation: Observation, what: str, missing: Missing) -> Refused:
    host = observation.node.hypervisor
    return Refused(
        f"{what} could not be read on {host or 'its hypervisor'} ({missing})", guard="tenants", host=host
    )


def reset(observation: Observation, gpus: tuple[Gpu, ...]) -> Reset:
    """Persistence off where it is on, the reset, persistence on again where it was."""
    host = reset_host(observation)
    kept = tuple(gpu for gpu in gpus if gpu.persistence)
    return Reset(
        prepare=_persistence(host, kept, on=False),
        reset=Action(
            host=host,
            command=_nvidia_smi("--gpu-reset", "-i", _ids(gpus), deadline_s=RESET_DEADLINE_S),
            why=f"reset {len(gpus)} GPUs",
        ),
        restore=_persistence(host, kept, on=True),
    )


def _persistence(host: str, gpus: tuple[Gpu, ...], *, on: bool) -> tuple[Action, ...]:
    if not gpus:
        return ()
    word = "on again" if on else "off: it counts as a client and blocks the reset"
    command = _nvidia_smi("-pm", "1" if on else "0", "-i", _ids(gpus), deadline_s=60)
    return (Action(host=host, command=command, why=f"persistence mode {word}"),)


def _ids(gpus: tuple[Gpu, ...]) -> str:
    return ",".join(gpu.uuid for gpu in gpus)


def _nvidia_smi(*words: str, deadline_s: float) -> Command:
    return Command(argv=("nvidia-smi", *words), deadline_s=deadline_s, changes=True, root=True)


PLATFORM = Platform(
    kind="lxc",
    guards=("identity", "protected", "proxmox-lock", "proxmox-task", "ha", "tenants", "display", "mig"),
    reset_host=reset_host,
    gpus=own_gpus,
    reset=reset,
)
