"""What is judged alike of a node's machine and of a Proxmox host, and findings about either."""

from dataclasses import dataclass
from typing import Any

from fleetops.model.fact import Facts, Gap, Key, Missing
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.past import Past
from fleetops.model.sight import HypervisorSight
from fleetops.model.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One host with what was read on it. `look`: the command that shows more of it."""

    name: str
    facts: Facts
    past: Past
    thresholds: Thresholds
    look: str


def of_node(observation: Observation) -> Machine:
    """The node's own machine."""
    name = observation.node.name
    return Machine(
        name=name,
        facts=observation.node_facts,
        past=observation.past,
        thresholds=observation.thresholds,
        look=f"fleetops probe {name}",
    )


def of_sight(sight: HypervisorSight) -> Machine:
    """The Proxmox host itself."""
    name = sight.hypervisor.name
    return Machine(
        name=name,
        facts=sight.facts,
        past=sight.past,
        thresholds=sight.thresholds,
        look=f"fleetops run {name} -- uptime",
    )


def told(
    check: str, machine: Machine, severity: Severity, subject: str, evidence: str, *, run: str = ""
) -> Finding:
    """A finding about it; `run` is what to run there next, without it comes what shows more of it."""
    following = f"fleetops run {machine.name} -- {run}" if run else machine.look
    return Finding(
        host=machine.name, check=check, severity=severity, subject=subject, evidence=evidence, next=following
    )


def has_none(facts: Facts, key: Key[Any]) -> bool:
    """The host was asked and said that it has no such thing; not to have been asked is not the same."""
    reading = facts.readings.get(key.name)
    return isinstance(reading, Missing) and reading.gap is Gap.ABSENT


def gaps(
    check: str, machine: Machine, *keys: Key[Any], on: Facts | None = None, of: str = ""
) -> list[Finding]:
    """An unknown for each fact that is needed and missing. `on`: read elsewhere; `of`: what it is about."""
    facts = on or machine.facts
    missing = ((key.name.replace("-", " "), facts.get(key)) for key in keys)
    whose, subject = (f" of {of}", f"{of} ") if of else ("", "")
    where = "" if facts.host == machine.name else f" on {facts.host}"
    return [
        told(check, machine, Severity.UNKNOWN, f"{subject}{name} not known", f"{name}{whose}{where}: {gap}")
        for name, gap in missing
        if isinstance(gap, Missing)
    ]
