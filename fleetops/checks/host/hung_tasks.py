"""Tasks that the kernel has called blocked since the last sweep: they wait in the driver or for a disk, and no signal ends them.

The log of a container's kernel tells of all containers, with pids of its own: the node's are those that its
hypervisor finds in D state in the container, or that have the name of a process of it in D state. What is not the
node's, the hypervisor's own check tells.
"""

from fleetops.checks.support.hung import HungTask, hung_tasks
from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.kernel_news import lost_lines, news
from fleetops.checks.support.machine import gaps, of_node
from fleetops.checks.support.saying import counted, found, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.guest import GUEST
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import PROCESSES

_NAME = "hung-tasks"


def judge(observation: Observation) -> list[Finding]:
    """Critical while one of them still hangs."""
    machine, facts = of_node(observation), kernel_facts(observation)
    if unknown := [*gaps(_NAME, machine, KERNEL_LOG, on=facts), *gaps(_NAME, machine, PROCESSES)]:
        return unknown
    what = news(machine, facts)
    if what is None:
        return []
    guest = observation.node.guest
    shared = guest is not None and guest.kind == "lxc"
    told = hung_tasks(what.lines)
    still = [task for task in told if _hangs(task, observation, shared)]
    hung = still if shared else list(told)
    findings = lost_lines(_NAME, machine, facts, what)
    if not hung:
        return findings
    left = (
        f"; {counted(len(still), 'is', 'are')} still in D state" if still else "; none is in D state any more"
    )
    evidence = (
        f"the kernel calls {counted(len(hung), 'task')} blocked {what.since}: {listed(hung)},"
        f" last {what.ago(hung[-1].line)}{left}"
    )
    severity = Severity.CRITICAL if still else Severity.WARNING
    return [found(_NAME, observation, severity, "tasks hang", evidence, command="probe"), *findings]


def _hangs(task: HungTask, observation: Observation, shared: bool) -> bool:
    """It is in D state at this moment; of a shared kernel's tasks: in this container."""
    stuck = [one for one in observation.node_facts.value(PROCESSES) or () if one.state == "D"]
    if not shared:
        return any(one.pid == task.pid for one in stuck)
    guest = observation.hypervisor_facts.value(GUEST) if observation.hypervisor_facts else None
    left = [one for one in (guest.left if guest else ()) if one.state == "D"]
    return any(one.pid == task.pid for one in left) or any(one.comm == task.comm for one in stuck)


CHECK = Check(name=_NAME, title="no task hangs", judge=judge, sweeps_only=True, latched=True)
