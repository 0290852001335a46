"""What a stop may touch: the processes that the plan named, and what has come from them since. Nothing else, ever."""

from collections.abc import Iterable

from fleetops.model.machine import Process


def linked(agreed: Iterable[Process], now: Iterable[Process]) -> tuple[Process, ...]:
    """Those of `now` that are among `agreed`, or descend from them, or are of a group or session they lead.

    By pid and start time; what the service has started between the plan and now (a rank restarted by its launcher)
    counts, another service that has become the node's only one meanwhile does not.
    """
    living = tuple(now)
    known = {(one.pid, one.start_ticks) for one in agreed}
    pids = {pid for pid, _ in known}
    found = {one.pid: one for one in living if (one.pid, one.start_ticks) in known}
    while more := [
        one
        for one in living
        if one.pid not in found and ({one.ppid, one.pgid, one.sid} - {0, 1}) & (pids | set(found))
    ]:
        found.update({one.pid: one for one in more})
    return tuple(one for one in living if one.pid in found)
