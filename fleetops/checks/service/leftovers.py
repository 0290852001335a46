"""Shared memory that dead processes left behind: RAM that no process's RSS shows."""

from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.engines.attribution import attribute
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES, SEGMENTS
from fleetops.model.units import show_gb

_NAME = "leftovers"


def judge(observation: Observation) -> list[Finding]:
    """One finding for all segments of dead owners that nobody maps."""
    if unknown := lacking(_NAME, observation, SEGMENTS, PROCESSES):
        return unknown
    left = attribute(observation).leftovers
    if not left:
        return []
    size = sum(segment.size_bytes for segment in left)
    return [
        found(
            _NAME,
            observation,
            Severity.WARNING,
            "leftovers",
            f"{counted(len(left), 'shared-memory segment')} of dead owners, {show_gb(size)}, mapped by nobody "
            f"({listed(segment.name for segment in left)})",
            command="kill --dry-run",
        )
    ]


CHECK = Check(name=_NAME, title="no shared memory of dead owners is left", judge=judge)
