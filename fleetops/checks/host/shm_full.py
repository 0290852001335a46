"""Shared memory that is nearly full: a page that it cannot give ends the process that wants it (SIGBUS)."""

from fleetops.checks.support.fullness import filled
from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.model.disk import FILE_SYSTEMS, SHM, FileSystem
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.units import show_gb

NAME = "shm-full"


def judge_machine(machine: Machine) -> list[Finding]:
    """A node without it is not healthy: no engine starts there."""
    if unknown := gaps(NAME, machine, FILE_SYSTEMS):
        return unknown
    found = machine.facts.value(FILE_SYSTEMS)
    mounted = [one for one in (found.mounted if found else ()) if one.mount == SHM]
    if not mounted:
        evidence = f"no {SHM} is mounted, or df tells nothing of it"
        return [told(NAME, machine, Severity.UNKNOWN, "no shared memory", evidence, run=f"df -h {SHM}")]
    said = [(one.used_percent, _said(one)) for one in mounted]
    return filled(NAME, machine, "shared memory full", said, limits="shm", run=f"ls -lS {SHM}")


def _said(one: FileSystem) -> str:
    left = f"{show_gb(one.available_bytes)} of {show_gb(one.size_bytes)} left"
    return f"{SHM} is {one.used_percent:.0f} % full ({left})"


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="shared memory has room", judge=judge, sweeps_only=True)
