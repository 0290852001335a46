"""In what condition a service is, by its processes alone: a port that answers proves nothing (SGLang issue #18421)."""

from enum import Enum

from fleetops.engines import engine
from fleetops.engines.support.finder import is_spawned_helper
from fleetops.model.engine import Service
from fleetops.model.machine import Process


class Condition(Enum):
    """What the process table says of a service."""

    WHOLE = "all its processes live"
    STARTING = "its ranks are still being started"
    WEDGED = "some of its processes are dead"
    ORPHANED = "its launcher is gone"


def condition(service: Service) -> Condition:
    """The condition of one service."""
    if service.launcher is None:
        return Condition.ORPHANED
    if service.launcher.is_zombie or any(rank.process.is_zombie for rank in service.ranks):
        return Condition.WEDGED
    if any(process.is_zombie for process in vital(service)):
        return Condition.WEDGED
    if not missing_ranks(service):
        return Condition.WHOLE
    # Ranks are started together: before the first has its title, none is missed.
    return Condition.STARTING if not service.ranks or untitled(service) else Condition.WEDGED


def is_wedged(service: Service) -> bool:
    """Dead in whole or in part: it will not come back by itself."""
    return condition(service) in {Condition.WEDGED, Condition.ORPHANED}


def missing_ranks(service: Service) -> int:
    """Ranks that its flags call for and the process table lacks, dead ones not counted as missing."""
    if service.launcher is None or service.launcher.is_zombie:
        return 0
    return max(0, engine(service.engine).expected_ranks(service.flags) - len(service.ranks))


def untitled(service: Service) -> int:
    """Children of the launcher that Python has started and that have not got their title yet: ranks to be."""
    return sum(1 for process in service.others if not process.is_zombie and is_spawned_helper(process))


def vital(service: Service) -> tuple[Process, ...]:
    """Those of its further processes that it cannot do without: the engine's own, by their titles (vLLM's engine core).

    What one of them has just forked bears its title until it becomes something else, and may end without harm.
    """
    of = engine(service.engine)
    titled = {process.pid: process for process in service.processes if of.is_worker(process)}
    return tuple(
        process for process in service.others if process.pid in titled and process.ppid not in titled
    )
