"""Findings said as an operator would say them."""

from collections.abc import Iterable
from typing import Any

from fleetops.checks.support.machine import gaps, of_node
from fleetops.model.fact import Facts, Key
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.machine import Process

_MOST_LISTED = 8


def found(
    check: str,
    observation: Observation,
    severity: Severity,
    subject: str,
    evidence: str,
    *,
    command: str = "",
    person: str = "",
) -> Finding:
    """A finding about the node.

    `command` is a fleetops subcommand with its options, the node's name left out; `person` is what somebody has to do
    on a machine before a recovery can help.
    """
    name = observation.node.name
    verb, _, options = command.partition(" ")
    following = f"fleetops {verb} {name} {options}".rstrip() if command else ""
    if person:
        following = f"{person}, then fleetops recover {name}"
    return Finding(
        host=name, check=check, severity=severity, subject=subject, evidence=evidence, next=following
    )


def lacking(check: str, observation: Observation, *keys: Key[Any], on: Facts | None = None) -> list[Finding]:
    """An unknown for each fact that this check needs and does not have: what is not known is never healthy."""
    return gaps(check, of_node(observation), *keys, on=on)


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 zombie`, `5 zombies`."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def listed(items: Iterable[object]) -> str:
    """A few of them by name, and how many more there are."""
    names = [str(item) for item in items]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def pids(processes: Iterable[Process]) -> str:
    """`pid 4131`, `pids 4131, 4132`."""
    numbers = [process.pid for process in processes]
    return f"pid{'s' if len(numbers) != 1 else ''} {listed(numbers)}"
