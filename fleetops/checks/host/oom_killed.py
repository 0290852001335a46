"""Processes that the kernel's OOM killer has ended since the last sweep, and whether ranks were among them.

A container's kills stand in the log of its hypervisor's kernel: those of its own cgroup count as the node's.
"""

from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.kernel_news import News, log_read, lost_lines, news
from fleetops.checks.support.machine import gaps, of_node
from fleetops.checks.support.oom import Victim, said, victims
from fleetops.checks.support.saying import counted, found, listed
from fleetops.engines import engines
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import Process
from fleetops.model.past import Remembered

_NAME = "oom-killed"


def judge(observation: Observation) -> list[Finding]:
    """One finding for all victims: critical where one of them was a service's."""
    machine, facts = of_node(observation), kernel_facts(observation)
    if unknown := gaps(_NAME, machine, KERNEL_LOG, on=facts):
        return unknown
    what = news(machine, facts)
    if what is None:
        return []
    killed = [one for one in victims(what.lines) if _is_of_node(one, observation)]
    told = [_finding(observation, killed, what)] if killed else []
    return [*told, *lost_lines(_NAME, machine, facts, what)]


def _is_of_node(victim: Victim, observation: Observation) -> bool:
    guest = observation.node.guest
    return guest is None or guest.kind != "lxc" or victim.is_in_container(guest.id)


def _finding(observation: Observation, killed: list[Victim], what: News) -> Finding:
    of_service = [one for one in killed if _was_of_service(one, observation)]
    numbers = f"pid{'s' if len(of_service) > 1 else ''} {listed(one.pid for one in of_service)}"
    which = "all of them" if 1 < len(of_service) == len(killed) else numbers
    whose = f"; {which} of a service" if of_service else ""
    evidence = (
        f"the kernel has killed {counted(len(killed), 'process', 'processes')} for want of memory {what.since}:"
        f" {said(killed)}; the last one {what.ago(killed[-1].line)}{whose}"
    )
    severity = Severity.CRITICAL if of_service else Severity.WARNING
    command = "recover --dry-run" if of_service else "probe"
    return found(_NAME, observation, severity, "OOM kill", evidence, command=command)


def _was_of_service(victim: Victim, observation: Observation) -> bool:
    """By its name, which is all that is left of it, or by its pid where that still counts a zombie of a service.

    A container's pids are other ones than those of its host's kernel.
    """
    gone = Process(
        pid=victim.pid, ppid=0, pgid=0, sid=0, state="Z", threads=1, comm=victim.comm, start_ticks=0
    )
    if any(engine.is_worker(gone) for engine in engines()):
        return True
    guest = observation.node.guest
    if guest is not None and guest.kind == "lxc":
        return False
    pids = {process.pid for service in observation.services for process in service.processes}
    return victim.pid in pids


def remember(observation: Observation) -> Remembered:
    """When the kernel's log was last read."""
    return log_read(kernel_facts(observation))


CHECK = Check(
    name=_NAME, title="the OOM killer has ended nothing", judge=judge, sweeps_only=True, latched=True
)
