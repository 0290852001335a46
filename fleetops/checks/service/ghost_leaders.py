"""Zombie leaders whose threads live on: ps shows them defunct with RSS 0, fuser and lsof miss them, and they hold all."""

from fleetops.checks.support.saying import counted, found, lacking, pids
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import PROCESSES, Process
from fleetops.model.units import show_gb

_NAME = "ghost-leaders"


def judge(observation: Observation) -> list[Finding]:
    """One finding for all of the node's services together."""
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    ghosts = [
        process
        for service in observation.services
        for process in service.processes
        if process.is_ghost_leader
    ]
    if not ghosts:
        return []
    held = sum(_held_bytes(process) for process in ghosts)
    stuck = sum(1 for process in ghosts if any(thread.state == "D" for thread in process.live_threads))
    evidence = (
        f"{counted(len(ghosts), 'zombie leader')} with live threads ({pids(ghosts)}): memory, device files and ports "
        f"are still held{f', {show_gb(held)} resident' if held else ''}; ps shows 0, fuser and lsof miss them"
    )
    if stuck:
        evidence += f"; {stuck} with a thread in D, which SIGKILL does not reach until it returns"
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "dead leaders, live threads",
            evidence,
            command="recover --dry-run",
        )
    ]


def _held_bytes(process: Process) -> int:
    """Threads share one address space: the largest figure is the process's, not their sum."""
    return max((thread.rss_bytes or 0 for thread in process.live_threads), default=0)


CHECK = Check(name=_NAME, title="no zombie leader has live threads", judge=judge)
