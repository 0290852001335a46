"""Ranks in uninterruptible sleep: SIGKILL is queued and not delivered. One look cannot tell for how long."""

from fleetops.checks.support.saying import counted, found, lacking, pids
from fleetops.engines.condition import is_wedged
from fleetops.model.engine import Service
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES, Process
from fleetops.model.past import Remembered

_NAME = "ranks-in-d-state"
_WORD = "ranks-in-d"


def judge(observation: Observation) -> list[Finding]:
    """Critical beside dead ranks; in a service that is whole it may be a disk, so it only warns."""
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    findings = []
    for service in observation.services:
        wedged = is_wedged(service)
        stuck = [one for one in _stuck(service) if wedged or not _is_ordinary(one, observation)]
        if not stuck:
            continue
        reason = (
            "the service is dead in part; SIGKILL is queued until the kernel call returns"
            if wedged
            else "as in the sweep before this one"
            if observation.sweeping
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


def remember(observation: Observation) -> Remembered:
    """Who is in D now."""
    stuck = [_name(process) for service in observation.services for process in _stuck(service)]
    return Remembered(words={_WORD: " ".join(stuck)})


def _stuck(service: Service) -> list[Process]:
    return [rank.process for rank in service.ranks if _is_stuck(rank.process)]


def _is_ordinary(process: Process, observation: Observation) -> bool:
    """In a sweep a first sighting is: the next one will tell."""
    return observation.sweeping and _name(process) not in observation.past.words.get(_WORD, "").split()


def _name(process: Process) -> str:
    return f"{process.pid}:{process.start_ticks}"


def _is_stuck(process: Process) -> bool:
    return process.state == "D" or any(thread.state == "D" for thread in process.live_threads)


CHECK = Check(name=_NAME, title="no rank hangs in the kernel", judge=judge)
