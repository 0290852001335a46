"""Tasks that a kernel has found blocked: `INFO: task COMM:PID blocked for more than N seconds.` (kernel/hung_task.c).

It says so of ten of them at most since its boot (kernel.hung_task_warnings), and then that it says no more.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fleetops.model.kernel import KernelLine

_BLOCKED = re.compile(r"INFO: task (.*):([0-9]+) blocked for more than ([0-9]+) seconds")
_NO_MORE = "hung task reports are suppressed"


@dataclass(frozen=True, kw_only=True)
class HungTask:
    """One task; `for_s` is the longest that was told of it."""

    line: KernelLine
    comm: str
    pid: int
    for_s: int

    def __str__(self) -> str:
        return f"{self.comm} (pid {self.pid}) for more than {self.for_s} s"


def hung_tasks(lines: Iterable[KernelLine]) -> tuple[HungTask, ...]:
    """Each task once, in the order in which they were last told of."""
    found: dict[tuple[str, int], HungTask] = {}
    for line in lines:
        if match := _BLOCKED.search(line.text):
            task = HungTask(line=line, comm=match[1], pid=int(match[2]), for_s=int(match[3]))
            found.pop((task.comm, task.pid), None)
            found[task.comm, task.pid] = task
    return tuple(found.values())


def says_no_more(lines: Iterable[KernelLine]) -> bool:
    """The kernel reports no further ones until its next boot: that none is seen then says nothing."""
    return any(_NO_MORE in line.text for line in lines)
