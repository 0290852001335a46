"""Tasks of a Proxmox host, its containers' among them, that its kernel has called blocked since the last sweep."""

from fleetops.checks.support.hung import HungTask, hung_tasks, says_no_more
from fleetops.checks.support.kernel_news import log_read, lost_lines, news
from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.checks.support.saying import counted, listed
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.guest import GUEST
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight

_NAME = "hung-tasks"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding for all, with the node in whose container a task still hangs."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, KERNEL_LOG):
        return unknown
    what = news(host, host.facts)
    if what is None:
        return []
    hung, findings = hung_tasks(what.lines), lost_lines(_NAME, host, host.facts, what)
    if not hung:
        return findings
    no_more = "; the kernel reports no further ones until it boots" if says_no_more(what.all_lines) else ""
    evidence = (
        f"the kernel calls {counted(len(hung), 'task')} blocked {what.since}:"
        f" {listed(_said(task, sight) for task in hung)}, last {what.ago(hung[-1].line)}{no_more}"
    )
    run = "ps -eo pid,stat,wchan:24,etime,args"
    return [told(_NAME, host, Severity.WARNING, "tasks hang", evidence, run=run), *findings]


def _said(task: HungTask, sight: HypervisorSight) -> str:
    for name, facts in sorted(sight.guests.items()):
        state = facts.value(GUEST)
        if state is not None and any(one.pid == task.pid for one in state.left):
            return f"{task} of {name}"
    return str(task)


def remember(sight: HypervisorSight) -> Remembered:
    """When the kernel's log was last read."""
    return log_read(sight.facts)


CHECK = HypervisorCheck(name=_NAME, title="no task hangs in the kernel", judge=judge, latched=True)
