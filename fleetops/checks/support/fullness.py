"""File systems that fill up, by blocks or by inodes: those past a share, worst first."""

from collections.abc import Iterable

from fleetops.checks.support.machine import Machine, told
from fleetops.checks.support.saying import listed
from fleetops.model.disk import FILE_SYSTEMS, SHM, FileSystem
from fleetops.model.finding import Finding, Severity


def disks(machine: Machine) -> tuple[FileSystem, ...]:
    """All but shared memory, which has its own check."""
    found = machine.facts.value(FILE_SYSTEMS)
    return tuple(one for one in (found.mounted if found else ()) if one.mount != SHM)


def filled(
    check: str, machine: Machine, subject: str, of: Iterable[tuple[float, str]], *, limits: str, run: str
) -> list[Finding]:
    """One finding for all that are past the share that `limits` names. `of`: percent used, and how that is said."""
    warn = machine.thresholds[f"{limits}-used-percent"]
    critical = machine.thresholds[f"{limits}-used-critical-percent"]
    past = sorted((one for one in of if one[0] >= warn), reverse=True)
    if not past:
        return []
    severity = Severity.CRITICAL if past[0][0] >= critical else Severity.WARNING
    limit = critical if severity is Severity.CRITICAL else warn
    evidence = f"{listed(said for _, said in past)}; the limit is {limit:g} %"
    return [told(check, machine, severity, subject, evidence, run=run)]
