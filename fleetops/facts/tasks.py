"""Running Proxmox tasks that concern a guest.

`source=active` lists running tasks and finished ones that are not archived yet; a running one has no end time
(pve-manager, PVE/API2/Tasks.pm). The API's own filter by guest is not used: a backup of several guests runs as one
task without an id (PVE/API2/VZDump.pm), and may have this guest's turn next.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fleetops.facts.proxmox import rows
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact
from fleetops.model.guest import TASKS, Task

FOR_MANY = frozenset({"vzdump", "startall", "stopall", "suspendall", "migrateall"})
"""Task types that may concern any guest of the host when they carry no id."""

CONSOLES = frozenset({"vncproxy", "vncshell", "spiceproxy", "spiceshell", "termproxy"})
"""An open console is a task too, and changes nothing."""


def fact(guest_id: int) -> Fact[tuple[Task, ...]]:
    """The running tasks that concern this guest, or might."""
    argv = ("pvesh", "get", "/nodes/localhost/tasks", "--source", "active", "--output-format", "json")
    return Fact(TASKS, Command(argv=argv, deadline_s=20.0, root=True), partial(parse, guest_id=guest_id))


def parse(outcome: Outcome, guest_id: int) -> tuple[Task, ...]:
    """Oldest first. Raises Absent where there is no pvesh, Unparsable for an answer of another form."""
    running = [_task(row) for row in rows(outcome) if not row.get("endtime")]
    concerned = [task for task in running if _concerns(task, str(guest_id))]
    return tuple(sorted(concerned, key=lambda task: (task.started_at, task.upid)))


def _concerns(task: Task, guest_id: str) -> bool:
    if task.type in CONSOLES:
        return False
    return task.id == guest_id or (not task.id and task.type in FOR_MANY)


def _task(row: Mapping[str, Any]) -> Task:
    return Task(
        upid=str(row["upid"]),
        type=str(row["type"]),
        id=str(row.get("id") or ""),
        user=str(row.get("user") or ""),
        started_at=float(row.get("starttime") or 0),
    )
