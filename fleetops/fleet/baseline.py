"""How an idle node looks when nobody recorded it: as its idle peers do, else computed, and with the margin stated."""

from collections.abc import Mapping

from fleetops.engines.attribution import attribute
from fleetops.model.finding import Baseline, Observation
from fleetops.model.gpu import GPUS
from fleetops.model.machine import MEMORY, PROCESSES, Memory, Process
from fleetops.model.units import GB, show_gb

# The kernel and the page tables of a large node keep 0.5 to 1 % for themselves; twice that is the margin here.
_KERNEL_SHARE = 0.01
_LEAST_MARGIN_BYTES = 4 * GB


def idle_state(
    observation: Observation, recorded: Baseline | None, peers: Mapping[str, Baseline]
) -> Baseline | None:
    """What is on record for this node, where it still is the machine that it was recorded on; else an estimate.

    A node that was given another amount of memory since would never come back to what it had.
    """
    memory = observation.node_facts.value(MEMORY)
    if recorded and (memory is None or recorded.is_of(memory)):
        return recorded
    return estimate_baseline(observation, peers)


def estimate_baseline(observation: Observation, peers: Mapping[str, Baseline]) -> Baseline | None:
    """From the idle state of a peer of the same model, else from MemTotal; None where memory could not be read.

    `peers` are the idle states on record, by node; a peer has the same GPUs by name and the same MemTotal within 1 %.
    """
    memory = observation.node_facts.value(MEMORY)
    if memory is None or observation.node_facts.value(PROCESSES) is None:
        return None
    return _of_peer(observation, memory, peers) or _computed(observation, memory)


def _of_peer(observation: Observation, memory: Memory, peers: Mapping[str, Baseline]) -> Baseline | None:
    """The nearest in size, with what it lacks of its own MemTotal when idle taken from this node's."""
    gpus = observation.node_facts.value(GPUS)
    if gpus is None or not gpus.model:
        return None
    alike = {
        name: idle
        for name, idle in peers.items()
        if idle.total_bytes and idle.gpu_model == gpus.model and idle.is_of(memory)
    }
    if not alike:
        return None
    name = min(alike, key=lambda one: (_differs_bytes(alike[one], memory), one))
    idle, margin = alike[name], _margin_bytes(memory)
    most = max(idle.gpu_used_bytes.values(), default=0)
    return Baseline(
        available_bytes=memory.total_bytes - (idle.total_bytes - idle.available_bytes),
        gpu_used_bytes={gpu.uuid: most for gpu in gpus.gpus},
        source=f"as idle peer {name} ({idle.source}), within {show_gb(margin)}; none was recorded here",
        margin_bytes=margin,
    )


def _differs_bytes(idle: Baseline, memory: Memory) -> int:
    return abs(idle.total_bytes - memory.total_bytes)


def _computed(observation: Observation, memory: Memory) -> Baseline:
    """MemTotal less the kernel's own share and less what stays: processes that no recovery of this node ends.

    GPUs are taken to use nothing when idle (drivers report 0 to a few MiB).
    """
    margin = _margin_bytes(memory)
    stays = sum(map(_own_bytes, _staying(observation)))
    less = f" and {show_gb(stays)} of processes that stay" if stays >= GB else ""
    return Baseline(
        available_bytes=round(memory.total_bytes * (1 - _KERNEL_SHARE)) - stays,
        source=f"MemTotal less 1 %{less}, within {show_gb(margin)}; no idle state was recorded",
        margin_bytes=margin,
    )


def _margin_bytes(memory: Memory) -> int:
    return max(_LEAST_MARGIN_BYTES, round(memory.total_bytes * 2 * _KERNEL_SHARE))


def _staying(observation: Observation) -> tuple[Process, ...]:
    """What is not the service's and does not look like it either."""
    found = attribute(observation)
    going = {process.pid for process in (*found.processes, *found.nominated)}
    return tuple(one for one in observation.node_facts.value(PROCESSES) or () if one.pid not in going)


def _own_bytes(process: Process) -> int:
    """PSS where it was read, else RSS, which counts shared pages once for each process: then it is rather too much."""
    return process.pss_bytes if process.pss_bytes is not None else process.rss_bytes
