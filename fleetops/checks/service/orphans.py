"""Engine processes whose launcher is gone: they keep GPUs and memory while the port looks free (sglang #23627)."""

from fleetops.checks.support.saying import counted, found, lacking, listed, pids
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES
from fleetops.model.units import show_gb

_NAME = "orphans"


def judge(observation: Observation) -> list[Finding]:
    """One finding for each group that a dead launcher left behind alive."""
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    findings = []
    for service in observation.services:
        living = [process for process in service.processes if process.is_alive]
        if service.launcher is not None or not living:
            continue
        held = sum(process.rss_bytes for process in living)
        groups = listed(sorted({process.pgid for process in living}))
        findings.append(
            found(
                _NAME,
                observation,
                Severity.CRITICAL,
                "orphans",
                f"{counted(len(living), 'process', 'processes')} of a dead launcher live on ({pids(living)}, "
                f"process group {groups}){f', {show_gb(held)} resident' if held else ''}",
                command="recover --dry-run",
            )
        )
    return findings


CHECK = Check(name=_NAME, title="no engine process outlives its launcher", judge=judge)
