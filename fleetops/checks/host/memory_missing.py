"""Host memory that is in no process's RSS and in no shared memory: pinned by the GPU driver for ranks that are dead.

A whole service with a host KV cache looks the same, because driver-allocated pages are in nobody's RSS; so only what
a dead service, or none, holds is a finding.
"""

from fleetops.checks.support.saying import found, lacking
from fleetops.engines.condition import is_wedged
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import MEMORY, PROCESSES, Memory, Process
from fleetops.model.units import GB, show_gb

_NAME = "memory-missing"
# The kernel's own share (slab, page tables) grows with the machine.
_LEAST_BYTES = 8 * GB
_LEAST_SHARE = 0.05


def judge(observation: Observation) -> list[Finding]:
    """One finding with how much is missing, as a lower bound: RSS counts shared pages more than once."""
    if unknown := lacking(_NAME, observation, MEMORY, PROCESSES):
        return unknown
    memory = observation.node_facts.value(MEMORY)
    if memory is None or any(not is_wedged(service) for service in observation.services):
        return []
    processes = observation.node_facts.value(PROCESSES) or ()
    missing = missing_bytes(memory, processes, _idle_bytes(observation, memory))
    if missing < max(_LEAST_BYTES, memory.total_bytes * _LEAST_SHARE):
        return []
    whose = "dead ranks are still there" if observation.services else "no service is there"
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "memory missing",
            f"{show_gb(missing)} are in no process's RSS and in no shared memory (pinned by the driver); {whose}",
            command="recover --dry-run",
        )
    ]


def _idle_bytes(observation: Observation, memory: Memory) -> int:
    """What the idle node itself has taken."""
    baseline = observation.baseline
    return max(0, memory.total_bytes - baseline.available_bytes) if baseline else 0


def missing_bytes(memory: Memory, processes: tuple[Process, ...], idle_bytes: int) -> int:
    """What is gone beyond the idle node's own use, less what processes and shared memory account for."""
    resident = sum(_resident_bytes(process) for process in processes)
    return max(0, memory.total_bytes - memory.available_bytes - idle_bytes - resident - memory.shmem_bytes)


def _resident_bytes(process: Process) -> int:
    """A zombie leader's memory shows in its threads only; they share one address space."""
    return max(process.rss_bytes, max((thread.rss_bytes or 0 for thread in process.live_threads), default=0))


CHECK = Check(name=_NAME, title="host memory is accounted for", judge=judge)
