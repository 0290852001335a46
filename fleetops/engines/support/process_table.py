"""A node's process table as a tree, with its process groups and sessions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fleetops.model.machine import Process

# Groups and sessions 0 (led from outside this pid namespace: `pct exec`, nsenter) and 1 (everything that a
# container's PID 1 started without setsid) hold unrelated processes together.
_LAST_SHARED_ID = 1


@dataclass(frozen=True)
class ProcessTable:
    """All processes of one node, indexed. A table read while processes come and go may hold orphans and cycles."""

    processes: tuple[Process, ...]

    @cached_property
    def by_pid(self) -> dict[int, Process]:
        """Each process by its pid."""
        return {process.pid: process for process in self.processes}

    @cached_property
    def _children(self) -> dict[int, list[Process]]:
        children: dict[int, list[Process]] = {}
        for process in self.processes:
            children.setdefault(process.ppid, []).append(process)
        return children

    def ancestors(self, process: Process) -> Iterator[Process]:
        """Parent, grandparent, ... as far as they are in the table."""
        seen = {process.pid}
        parent = self.by_pid.get(process.ppid)
        while parent and parent.pid not in seen:
            yield parent
            seen.add(parent.pid)
            parent = self.by_pid.get(parent.ppid)

    def descendants(
        self, process: Process, *, below: Callable[[Process], bool] = lambda _: True
    ) -> tuple[Process, ...]:
        """Children, grandchildren, ...; a process that `below` refuses is left out with all that is under it."""
        found: dict[int, Process] = {}
        waiting = [process]
        while waiting:
            for child in self._children.get(waiting.pop(0).pid, []):
                if child.pid not in found and child.pid != process.pid and below(child):
                    found[child.pid] = child
                    waiting.append(child)
        return tuple(found.values())

    def group(self, pgid: int) -> tuple[Process, ...]:
        """Everything in that process group; nothing for a group number that says nothing."""
        return tuple(p for p in self.processes if p.pgid == pgid and pgid > _LAST_SHARED_ID)

    def session(self, sid: int) -> tuple[Process, ...]:
        """Everything in that session; nothing for a session number that says nothing."""
        return tuple(p for p in self.processes if p.sid == sid and sid > _LAST_SHARED_ID)


def own_group(process: Process) -> int:
    """The number by which a process and its kind belong together: its group, else its session, else 0."""
    return next((number for number in (process.pgid, process.sid) if number > _LAST_SHARED_ID), 0)
