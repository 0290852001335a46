"""Swap in use: what was swapped out comes back page by page, and a rank that waits for it holds up all others."""

from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import MEMORY
from fleetops.model.units import show_gb

NAME = "swap-used"


def judge_machine(machine: Machine) -> list[Finding]:
    """A little is idle daemons' and does no harm."""
    if unknown := gaps(NAME, machine, MEMORY):
        return unknown
    memory, limit_bytes = machine.facts.value(MEMORY), machine.thresholds["swap-used-bytes"]
    if memory is None:
        return []
    used_bytes = memory.swap_total_bytes - memory.swap_free_bytes
    if used_bytes <= limit_bytes:
        return []
    evidence = (
        f"{show_gb(used_bytes)} of {show_gb(memory.swap_total_bytes)} swap are in use, more than"
        f" {show_gb(limit_bytes)}; {show_gb(memory.available_bytes)} of memory are available"
    )
    return [told(NAME, machine, Severity.WARNING, "swap in use", evidence, run="vmstat 1 5")]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="no swap is in use", judge=judge, sweeps_only=True)
