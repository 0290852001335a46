"""Tasks that the kernel has called blocked since the last sweep: they wait in the driver or for a disk, and no signal ends them.

The log of a container's kernel tells of all containers, with pids of its own: the node's are those that its
hypervisor finds in D state in the container, or that have the name of a process of it in D state. What is not the
node's, the hypervisor's own check tells.
"""

from fleetops.checks.support.hung import HungTask, hung_tasks
from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.kernel_news import News, log_read, lost_lines, news
from fleetops.checks.support.machine import gaps, of_node
from fleetops.checks.support.saying import counted, found, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import PROCESSES
from fleetops.model.past import Remembered

_NAME = "hung-tasks"


def judge(observation: Observation) -> list[Finding]:
    """Critical while one of them still hangs."""
    machine, facts = of_node(observation), kernel_facts(observation)
    what = news(machine, facts)
    if what is None:
        return gaps(_NAME, machine, KERNEL_LOG, on=facts)
    findings = lost_lines(_NAME, machine, facts, what)
    hung = hung_tasks(what.lines)
    if not hung:
        return findings
    shared = _is_container(observation)
    if shared and _left(observation) is None and observation.node_facts.value(PROCESSES) is None:
        return [*gaps(_NAME, machine, PROCESSES), *findings]
    still = [task for task in hung if _hangs(task, observation)]
    told = still if shared else list(hung)
    return [*([_finding(observation, told, still, what)] if told else []), *findings]


def _finding(observation: Observation, hung: list[HungTask], still: list[HungTask], what: News) -> Finding:
    left = f"{counted(len(still), 'is', 'are')} still in D state" if still else "none is in D state any more"
    if not still and observation.node_facts.value(PROCESSES) is None:
        left = "whether one is still in D state is not known"
    evidence = (
        f"the kernel calls {counted(len(hung), 'task')} blocked {what.since}: {listed(hung)},"
        f" last {what.ago(hung[-1].line)}; {left}"
    )
    severity = Severity.CRITICAL if still else Severity.WARNING
    return found(_NAME, observation, severity, "tasks hang", evidence, command="probe")


def _is_container(observation: Observation) -> bool:
    guest = observation.node.guest
    return guest is not None and guest.kind == "lxc"


def _left(observation: Observation) -> set[int] | None:
    """Processes in D state of the container, by its hypervisor's pids; None where that does not tell."""
    guest = observation.hypervisor_facts.value(GUEST) if observation.hypervisor_facts else None
    return None if guest is None else {one.pid for one in guest.left if one.state == "D"}


def _hangs(task: HungTask, observation: Observation) -> bool:
    """It is in D state at this moment; of a shared kernel's tasks: in this container."""
    stuck = [one for one in observation.node_facts.value(PROCESSES) or () if one.state == "D"]
    if not _is_container(observation):
        return any(one.pid == task.pid for one in stuck)
    return task.pid in (_left(observation) or ()) or any(one.comm == task.comm for one in stuck)


def remember(observation: Observation) -> Remembered:
    """When the kernel's log was last read."""
    return log_read(kernel_facts(observation))


CHECK = Check(name=_NAME, title="no task hangs in the kernel", judge=judge, sweeps_only=True, latched=True)
