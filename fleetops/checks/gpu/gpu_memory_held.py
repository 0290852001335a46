"""GPU memory that nothing living accounts for: held by ranks that are dead, or leaked, so that only a reset frees it."""

from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.engines.attribution import attribute
from fleetops.engines.condition import is_wedged
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.guest import HOST_HOLDERS
from fleetops.model.machine import HOLDERS, PROCESSES
from fleetops.model.units import MIB, show_gib

_NAME = "gpu-memory-held"
# An idle driver's own use differs a little from one minute to the next; the steps allow the same.
MARGIN_BYTES = 256 * MIB


def judge(observation: Observation) -> list[Finding]:
    """One finding for all GPUs that hold memory above their idle use without a living, working owner."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    above = [gpu for gpu in _gpus(observation) if held_bytes(observation, gpu) > MARGIN_BYTES]
    if not above:
        return []
    if unknown := lacking(_NAME, observation, HOLDERS, PROCESSES):
        return unknown
    owned = _owned_paths(observation)
    held = [gpu for gpu in above if not owned.intersection(_paths(gpu))]
    if not held:
        return []
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "GPU memory held",
            f"{show_gib(sum(held_bytes(observation, gpu) for gpu in held))} on {counted(len(held), 'GPU')} "
            f"({listed(gpu.index for gpu in held)}), {_by_whom(observation)}",
            command="recover --dry-run",
        )
    ]


def _gpus(observation: Observation) -> tuple[Gpu, ...]:
    gpus = observation.node_facts.value(GPUS)
    return gpus.gpus if gpus else ()


def held_bytes(observation: Observation, gpu: Gpu) -> int:
    """What the GPU holds beyond its idle use; without a baseline that use is taken as nothing."""
    idle = observation.baseline.gpu_used_bytes.get(gpu.uuid, 0) if observation.baseline else 0
    return max(0, gpu.memory_used_bytes - idle)


def _paths(gpu: Gpu) -> set[str]:
    return {f"/dev/nvidia{gpu.minor}"} if gpu.minor is not None else set()


def _owned_paths(observation: Observation) -> set[str]:
    """Device files that something alive has open and works with: whole services, strangers, other guests."""
    dead = {one.pid for service in observation.services if is_wedged(service) for one in service.processes}
    daemons = {process.pid for process in attribute(observation).daemons}
    holders = observation.node_facts.value(HOLDERS) or ()
    return {one.path for one in holders if one.pid not in dead | daemons} | _owned_elsewhere(observation)


def _owned_elsewhere(observation: Observation) -> set[str]:
    """Of a container: files that another guest has open on the hypervisor, where both see the same GPU."""
    guest, facts = observation.node.guest, observation.hypervisor_facts
    if guest is None or facts is None:
        return set()
    others = facts.value(HOST_HOLDERS) or ()
    return {one.path for one in others if one.guest_id is not None and one.guest_id != guest.id}


def _by_whom(observation: Observation) -> str:
    holders = observation.node_facts.value(HOLDERS) or ()
    holding = {holder.pid for holder in holders}
    dead = {one.pid for service in observation.services if is_wedged(service) for one in service.processes}
    if holding & dead:
        return "held by a service that is dead in part"
    return "and no process has their device files open: only a reset frees it"


CHECK = Check(name=_NAME, title="GPU memory has a living owner", judge=judge)
