"""What is wrong with a node: one check per file, found by this folder; a new check is one new file with `CHECK`."""

import importlib
import pkgutil
from functools import cache

from fleetops.checks.support.another import another
from fleetops.model.finding import Check, Finding, Observation, Severity

__all__ = ["all_checks", "judge"]

_WORST_FIRST = (Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING, Severity.OK)
_SILENCE = ("unreachable", "no-banner")
# What the others conclude from another machine's facts is not the node's.
_OF_ANOTHER = ("wrong-machine", "guest-state", "guest-locked")


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, by name."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg
    )
    checks: list[Check] = [module.CHECK for module in modules]
    return tuple(sorted(checks, key=lambda check: check.name))


def judge(observation: Observation) -> tuple[Finding, ...]:
    """All that the checks conclude, worst first.

    A node that did not answer at all is said so once, not once for every check that therefore knows nothing. Of a node
    as which another machine answers, nothing more is said than what its hypervisor tells.
    """
    findings = [finding for check in all_checks() for finding in check.judge(observation)]
    if another(observation):
        findings = [one for one in findings if one.check in _OF_ANOTHER]
    if any(finding.check in _SILENCE for finding in findings):
        findings = [one for one in findings if one.check in _SILENCE or not _is_of_silence(one, observation)]
    return tuple(sorted(findings, key=lambda one: (_WORST_FIRST.index(one.severity), one.check)))


def _is_of_silence(finding: Finding, observation: Observation) -> bool:
    """An unknown that only repeats that the node was silent; the hypervisor's facts speak for themselves."""
    beside = observation.hypervisor.name if observation.hypervisor else ""
    return finding.severity is Severity.UNKNOWN and not (beside and f" on {beside}:" in finding.evidence)
