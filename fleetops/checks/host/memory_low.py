"""Host memory that is nearly gone, or that did not come back although no service runs."""

from fleetops.checks.support.saying import found, lacking
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.fleet import HostMemory
from fleetops.model.machine import CGROUP, MEMORY, PROCESSES
from fleetops.model.units import show_gb

_NAME = "memory-low"


def judge(observation: Observation) -> list[Finding]:
    """Below the floor that every launch must leave; or, with no service, below the idle node's memory."""
    if unknown := lacking(_NAME, observation, MEMORY):
        return unknown
    memory = observation.node_facts.value(MEMORY)
    if memory is None:
        return []
    floor = (observation.profile.host_memory if observation.profile else HostMemory()).floor_bytes
    cgroup = observation.node_facts.value(CGROUP)
    room = cgroup.room_bytes if cgroup else None
    if min(memory.available_bytes, memory.available_bytes if room is None else room) < floor:
        inside = f", {show_gb(room)} of room in its cgroup" if room is not None else ""
        evidence = (
            f"{show_gb(memory.available_bytes)} of {show_gb(memory.total_bytes)} available{inside}; "
            f"the floor is {show_gb(floor)}"
        )
        return [found(_NAME, observation, Severity.CRITICAL, "memory low", evidence, command="probe")]
    return _not_back(observation, memory.available_bytes)


def _not_back(observation: Observation, available_bytes: int) -> list[Finding]:
    baseline = observation.baseline
    if baseline is None or observation.services:
        return []
    if available_bytes >= baseline.available_bytes - baseline.margin_bytes:
        return []
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    evidence = (
        f"no service runs, yet {show_gb(available_bytes)} are available and the idle node has "
        f"{show_gb(baseline.available_bytes)} ({baseline.source})"
    )
    return [found(_NAME, observation, Severity.WARNING, "memory not back", evidence, command="probe")]


CHECK = Check(name=_NAME, title="host memory is not running out", judge=judge)
