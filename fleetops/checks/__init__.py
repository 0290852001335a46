"""What is wrong with a host: one check per file, found by the folders here; a new check is one new file with `CHECK`."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from fleetops.checks.support.another import another
from fleetops.checks.support.remembering import of_hypervisor, of_node, together
from fleetops.model.finding import (
    WORST_FIRST,
    Check,
    Finding,
    FleetCheck,
    HypervisorCheck,
    Observation,
    Severity,
)
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight

__all__ = [
    "all_checks",
    "fleet_checks",
    "hypervisor_checks",
    "judge",
    "judge_fleet",
    "judge_hypervisor",
    "remember",
    "remember_hypervisor",
]

_OF_NODES = ("host", "service", "gpu", "guest")
_OF_HYPERVISORS = ("hypervisor",)
_SILENCE = ("unreachable", "no-banner")
# What the others conclude from another machine's facts is not the node's.
_OF_ANOTHER = ("wrong-machine", "guest-state", "guest-locked")


def _modules(folder: str) -> Iterator[ModuleType]:
    package = importlib.import_module(f"{__name__}.{folder}")
    for found in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(f"{package.__name__}.{found.name}")


def _checks(*folders: str) -> tuple[Any, ...]:
    checks = (module.CHECK for folder in folders for module in _modules(folder))
    return tuple(sorted(checks, key=lambda check: check.name))


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of nodes, by name."""
    return _checks(*_OF_NODES)


@cache
def hypervisor_checks() -> tuple[HypervisorCheck, ...]:
    """Every check of Proxmox hosts, by name."""
    return _checks(*_OF_HYPERVISORS)


@cache
def fleet_checks() -> tuple[FleetCheck, ...]:
    """Every check of nodes beside each other, by name."""
    return _checks("fleet")


def judge(observation: Observation) -> tuple[Finding, ...]:
    """All that the checks conclude, worst first; in a sweep those as well that only a sweep has the facts for.

    A node that did not answer at all is said so once, not once for every check that therefore knows nothing. Of a node
    as which another machine answers, nothing more is said than what its hypervisor tells.
    """
    checks = [check for check in all_checks() if observation.sweeping or not check.sweeps_only]
    findings = [finding for check in checks for finding in check.judge(observation)]
    if another(observation):
        findings = [one for one in findings if one.check in _OF_ANOTHER]
    if any(finding.check in _SILENCE for finding in findings):
        findings = [one for one in findings if one.check in _SILENCE or not _is_of_silence(one, observation)]
    return _worst_first(findings)


def judge_hypervisor(sight: HypervisorSight) -> tuple[Finding, ...]:
    """All that the checks of Proxmox hosts conclude, worst first; one that is silent is said so once."""
    findings = [finding for check in hypervisor_checks() for finding in check.judge(sight)]
    if any(finding.check in _SILENCE for finding in findings):
        findings = [one for one in findings if one.check in _SILENCE]
    return _worst_first(findings)


def judge_fleet(observations: Iterable[Observation]) -> tuple[Finding, ...]:
    """What shows only beside the others; a node as which another machine answers is none of them."""
    known = [one for one in observations if not another(one)]
    return _worst_first([finding for check in fleet_checks() for finding in check.judge(known)])


def remember(observation: Observation) -> Remembered:
    """What the next sweep's checks will want to know of this one; nothing of another machine that answers as the node."""
    if another(observation):
        return Remembered()
    return together(keep(observation) for keep in (of_node, *_rememberers(*_OF_NODES)))


def remember_hypervisor(sight: HypervisorSight) -> Remembered:
    """The same of a Proxmox host."""
    return together(keep(sight) for keep in (of_hypervisor, *_rememberers(*_OF_HYPERVISORS)))


@cache
def _rememberers(*folders: str) -> tuple[Callable[[Any], Remembered], ...]:
    """The checks' own `remember`."""
    found = (module for folder in folders for module in _modules(folder))
    return tuple(module.remember for module in found if hasattr(module, "remember"))


def _worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda one: (WORST_FIRST.index(one.severity), one.check)))


def _is_of_silence(finding: Finding, observation: Observation) -> bool:
    """An unknown that only repeats that the node was silent; the hypervisor's facts speak for themselves."""
    beside = observation.hypervisor.name if observation.hypervisor else ""
    return finding.severity is Severity.UNKNOWN and not (beside and f" on {beside}:" in finding.evidence)
