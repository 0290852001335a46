"""Ranks that are dead or gone. A dead rank takes its whole tensor-parallel group with it; the port may still answer."""

from fleetops.checks.support.saying import counted, found, lacking, listed, pids
from fleetops.engines import engine
from fleetops.engines.condition import Condition, condition, missing_ranks, vital
from fleetops.engines.support.process_table import ProcessTable
from fleetops.model.engine import Service
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import CGROUP, PROCESSES, Process

_NAME = "ranks-dead"


def judge(observation: Observation) -> list[Finding]:
    """One finding for each service with dead or missing ranks, or another process of its own that it cannot do without;
    leaders with live threads are another check's.
    """
    if unknown := lacking(_NAME, observation, PROCESSES):
        return unknown
    table = ProcessTable(observation.node_facts.value(PROCESSES) or ())
    findings = (_of_service(observation, table, service) for service in observation.services)
    return [finding for finding in findings if finding]


def _of_service(observation: Observation, table: ProcessTable, service: Service) -> Finding | None:
    zombies = [
        rank.process for rank in service.ranks if rank.process.is_zombie and not rank.process.is_ghost_leader
    ]
    vitals = [process for process in vital(service) if process.is_zombie]
    missing = 0 if condition(service) is Condition.STARTING else missing_ranks(service)
    if not zombies and not missing and not vitals:
        return None
    whole = max(len(service.ranks) + missing, _expected(service))
    parts = []
    if zombies:
        parts.append(
            f"{len(zombies)} of {whole} ranks are zombies ({pids(zombies)}); {_parents(table, zombies)}"
        )
    if missing:
        parts.append(f"{missing} of {whole} ranks are gone")
    if vitals:
        parts.append(f"{listed(sorted({one.comm for one in vitals}))} is a zombie ({pids(vitals)})")
    harmless = service.launcher is None and not any(process.is_alive for process in service.processes)
    if harmless:
        parts.append("they hold no memory any more")
    parts += _killed_for_memory(observation)
    return found(
        _NAME,
        observation,
        Severity.WARNING if harmless else Severity.CRITICAL,
        "ranks dead",
        "; ".join(parts),
        command="recover --dry-run",
    )


def _expected(service: Service) -> int:
    return engine(service.engine).expected_ranks(service.flags) if service.launcher else 0


def _killed_for_memory(observation: Observation) -> list[str]:
    """What the memory cgroup has counted since it was made: whom the kernel ended it does not say."""
    cgroup = observation.node_facts.value(CGROUP)
    if not cgroup or not cgroup.oom_kills:
        return []
    return [
        f"the kernel's OOM killer has ended {counted(cgroup.oom_kills, 'process', 'processes')} of this node's cgroup"
    ]


def _parents(table: ProcessTable, zombies: list[Process]) -> str:
    """Who should reap them and does not: a zombie cannot be killed, its parent can."""
    said = []
    for pid in dict.fromkeys(process.ppid for process in zombies):
        parent = table.by_pid.get(pid)
        if pid == 1:
            said.append("PID 1 does not reap them: they stay until the guest is stopped")
        elif parent is None:
            said.append(f"their parent {pid} is not in the process table")
        elif parent.state == "D":
            said.append(f"their parent {pid} hangs in D and does not reap them")
        else:
            said.append(f"their parent {pid} does not reap them: they cannot be killed, the parent can")
    return "; ".join(said)


CHECK = Check(name=_NAME, title="every rank of every service lives", judge=judge)
