"""What a stop may touch: the processes that the plan named, and what has come from them since. Nothing else, ever."""

from collections.abc import Iterable

from fleetops.engines.attribution import Attribution
from fleetops.model.finding import Observation
from fleetops.model.machine import PROCESSES, Process


def linked(agreed: Iterable[Process], now: Iterable[Process]) -> tuple[Process, ...]:
    """Those of `now` that are among `agreed`, or descend from them, or are of a group or session they lead.

    By pid and start time; what the service has started between the plan and now (a rank restarted by its launcher)
    counts, another service that has become the node's only one meanwhile does not.
    """
    living = tuple(now)
    known = {(one.pid, one.start_ticks) for one in agreed}
    # A number that somebody else has by now links nobody: the kernel gives it away only when no group or session of that
    # number is left.
    given_away = {one.pid for one in living if (one.pid, one.start_ticks) not in known}
    pids = {pid for pid, _ in known} - given_away
    found = {one.pid: one for one in living if (one.pid, one.start_ticks) in known}
    while more := [
        one
        for one in living
        if one.pid not in found and ({one.ppid, one.pgid, one.sid} - {0, 1}) & (pids | set(found))
    ]:
        found.update({one.pid: one for one in more})
    return tuple(one for one in living if one.pid in found)


def left_of(agreed: tuple[Process, ...], now: Attribution) -> tuple[Process, ...]:
    """What is still there of `agreed` and its offspring; all of it while the process table cannot be read."""
    return linked(agreed, now.living) if now.known else agreed


def started_again(agreed: Iterable[Process], living: Iterable[Process], observation: Observation) -> str:
    """Who brought the service back after its end, in words; "" where nobody did."""
    now = tuple(living)
    meant = {one.pid for one in linked(agreed, now)}
    fresh = next((one for one in now if one.pid not in meant), None)
    if fresh is None:
        return ""
    table = {one.pid: one for one in observation.node_facts.value(PROCESSES) or ()}
    parent = table.get(fresh.ppid)
    by = f" by pid {parent.pid} ({parent.title})" if parent else ""
    return f"{fresh.title} (pid {fresh.pid}) has been started again{by}"
