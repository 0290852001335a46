"""A check of how many of the file handles that the kernel allows are in use."""

from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact, Key, Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.package_check import PackageCheck

HANDLES: Key[tuple[int, int]] = Key("file-handles")
MOST = 0.8


def parse(outcome: Outcome) -> tuple[int, int]:
    """Allocated and allowed. What cannot be read so is a fact that is missing, by itself."""
    allocated, _, allowed = outcome.stdout.split()
    return int(allocated), int(allowed)


def judge(observation: Observation) -> list[Finding]:
    """No finding where all is well; what is not known is never well."""
    told = observation.node_facts.get(HANDLES)
    if isinstance(told, Missing):
        return [_found(observation, Severity.UNKNOWN, "file handles not known", str(told))]
    allocated, allowed = told
    if allocated <= allowed * MOST:
        return []
    return [_found(observation, Severity.WARNING, "file handles run out", f"{allocated:,} of {allowed:,}")]


def _found(observation: Observation, severity: Severity, subject: str, evidence: str) -> Finding:
    name = observation.node.name
    return Finding(
        host=name,
        check="file-handles",
        severity=severity,
        subject=subject,
        evidence=evidence,
        next=f"fleetops run {name} -- lsof -n",
    )


CHECK = PackageCheck(
    check=Check(name="file-handles", title="the kernel has file handles left", judge=judge),
    reads=(Fact(HANDLES, Command(argv=("cat", "/proc/sys/fs/file-nr"), deadline_s=5.0), parse),),
)
