"""Units of systemd that have failed, the driver's persistence daemon or a file system's mount among them."""

from fleetops.checks.support.machine import Machine, gaps, has_none, of_node, told
from fleetops.checks.support.saying import counted, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import FAILED_UNITS

NAME = "failed-units"


def judge_machine(machine: Machine) -> list[Finding]:
    """Nothing to say of a host that runs without systemd; one that was not asked is unknown like any other."""
    if has_none(machine.facts, FAILED_UNITS):
        return []
    if unknown := gaps(NAME, machine, FAILED_UNITS):
        return unknown
    units = machine.facts.value(FAILED_UNITS)
    if not units:
        return []
    evidence = f"{counted(len(units), 'unit')} failed: {listed(units)}"
    run = f"systemctl status --no-pager {units[0]}"
    return [told(NAME, machine, Severity.WARNING, "units failed", evidence, run=run)]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="no unit of systemd has failed", judge=judge, sweeps_only=True)
