"""A file system that is running out of room: logs, locks and evidence are then not written, and launches fail."""

from fleetops.checks.support.fullness import disks, filled
from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.checks.support.saying import listed
from fleetops.model.disk import FILE_SYSTEMS, FileSystem
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.units import show_gb

NAME = "disk-full"


def judge_machine(machine: Machine) -> list[Finding]:
    """By share and by what is left; a file system that could not be looked at is unknown."""
    if unknown := gaps(NAME, machine, FILE_SYSTEMS):
        return unknown
    enough = machine.thresholds["disk-enough-bytes"]
    scarce = [(one.used_percent, _said(one)) for one in disks(machine) if one.available_bytes < enough]
    return [*filled(NAME, machine, "disk full", scarce, limits="disk", run="df -h"), *_unread(machine)]


def _said(one: FileSystem) -> str:
    return f"{one.mount} is {one.used_percent:.0f} % full ({show_gb(one.available_bytes)} left)"


def _unread(machine: Machine) -> list[Finding]:
    found = machine.facts.value(FILE_SYSTEMS)
    if found is None or not found.unread:
        return []
    evidence = f"df tells nothing of {listed(found.unread)}"
    return [told(NAME, machine, Severity.UNKNOWN, "disk not readable", evidence, run="df -h")]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="the host's disks have room", judge=judge, sweeps_only=True)
