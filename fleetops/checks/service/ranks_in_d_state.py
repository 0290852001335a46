"""Ranks in uninterruptible sleep: SIGKILL is queued and not delivered. One look cannot tell for how long."""

from fleetops.checks.support.saying import counted, found, lacking, pids
from fleetops.engines.condition import is_wedged
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES, Process

_NAME = "ranks-in-d-state"


def judge(observation: Observation) -> list[Finding]:
    """Critical beside dead ranks; in a service that is whole it may be a disk, so it only warns."""
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    findings = []
    for service in observation.services:
        stuck = [rank.process for rank in service.ranks if _is_stuck(rank.process)]
        if not stuck:
            continue
        wedged = is_wedged(service)
        reason = (
            "the service is dead in part; SIGKILL is queued until the kernel call returns"
            if wedged
            else "seen once: normal while it reads from disk or unpins large buffers"
        )
        findings.append(
            found(
                _NAME,
                observation,
                Severity.CRITICAL if wedged else Severity.WARNING,
                "ranks in D",
                f"{counted(len(stuck), 'rank')} in uninterruptible sleep ({pids(stuck)}); {reason}",
                command="recover --dry-run" if wedged else "probe",
            )
        )
    return findings


def _is_stuck(process: Process) -> bool:
    return process.state == "D" or any(thread.state == "D" for thread in process.live_threads)


CHECK = Check(name=_NAME, title="no rank hangs in the kernel", judge=judge)
