"""Shared memory that SIGKILL leaves behind: it is RAM that no process's RSS shows, kept until somebody unlinks it."""

from collections.abc import Set as AbstractSet

from fleetops.engines import Engine, engines
from fleetops.engines.support.process_table import ProcessTable
from fleetops.engines.support.protected import is_driver_daemon
from fleetops.model.finding import Observation
from fleetops.model.machine import HOLDERS, PROCESSES, SEGMENTS, Process, Segment


def leftover_segments(observation: Observation, own: AbstractSet[int] = frozenset()) -> tuple[Segment, ...]:
    """Segments of the engine's kinds that nobody maps and whose creator is dead; none without the facts to show it.

    A kind that other programs make too (`psm_*`, `nccl-*`) counts only while no service lives on the node and
    nothing holds a GPU: its name does not say who made it (the rule of sglang PR #28089). A SysV segment has no name:
    it counts where its creator is one of `own`, the pids that are, or were a moment ago, the service's.
    """
    segments = observation.node_facts.value(SEGMENTS)
    processes = observation.node_facts.value(PROCESSES)
    if segments is None or processes is None:
        return ()
    table = ProcessTable(processes)
    quiet = _is_quiet(observation, table)
    return tuple(
        segment
        for segment in segments
        if _is_abandoned(segment, table)
        and (
            segment.creator_pid in own
            if segment.kind == "sysv"
            else _is_named_so(observation, segment, quiet)
        )
    )


def _is_abandoned(segment: Segment, table: ProcessTable) -> bool:
    """Nobody has it open, and its creator, where one is known, no longer lives."""
    if segment.mappers:
        return False
    creator = table.by_pid.get(segment.creator_pid) if segment.creator_pid is not None else None
    return creator is None or not creator.is_alive


def _is_named_so(observation: Observation, segment: Segment, quiet: bool) -> bool:
    if any(one.owns_segment(segment.name) for one in _engines_of(observation)):
        return segment.creator_pid is not None or quiet
    return quiet and any(one.may_own_segment(segment.name) for one in _engines_of(observation))


def _engines_of(observation: Observation) -> tuple[Engine, ...]:
    """The node's, and the profile's where that is another; none whose segments nobody has described yet."""
    names = {observation.node.engine, *([observation.profile.engine] if observation.profile else ())}
    return tuple(one for one in engines() if one.name in names)


def _is_quiet(observation: Observation, table: ProcessTable) -> bool:
    """No engine process lives and no process has a GPU open, so nobody is about to attach to anything."""
    holders = observation.node_facts.value(HOLDERS)
    if holders is None:
        return False
    if any(_holds(table.by_pid.get(holder.pid)) for holder in holders):
        return False
    return not any(process.is_alive for service in observation.services for process in service.processes)


def _holds(process: Process | None) -> bool:
    """A holder that has left the process table since may have been anybody's."""
    return process is None or (process.is_alive and not is_driver_daemon(process))
