"""What waits to start a service that has ended: a unit in auto-restart, a container that is restarting, a loop in its sleep."""

from collections.abc import Iterator

from fleetops.engines import engines
from fleetops.engines.support.process_table import ProcessTable
from fleetops.engines.support.protected import runs_script
from fleetops.engines.support.supervisors import (
    OURS,
    Kept,
    container_title,
    loop_title,
    shown,
    supervisors_of,
    unit_title,
)
from fleetops.model.engine import Service
from fleetops.model.finding import Observation
from fleetops.model.fleet import Profile
from fleetops.model.machine import PROCESSES, Process
from fleetops.model.supervisor import SUPERVISORS, Supervisor, Supervisors

WAITS = ", which waits to start it"
"""How the titles of these end."""

# No server's command line is longer; what follows it in a script is not looked through again for every word.
_MOST_WORDS = 400


def waiting(observation: Observation, profile: Profile) -> tuple[Supervisor, ...]:
    """Those that would start a service on the profile's port though none of it lives; nothing where that is not known."""
    found = observation.node_facts.value(SUPERVISORS)
    table = observation.node_facts.value(PROCESSES)
    if found is None or table is None:
        return ()
    idle = (*_units(found, profile), *_containers(found, profile))
    return (*idle, *_loops(found, ProcessTable(table), profile))


def serves(command: tuple[str, ...], profile: Profile) -> bool:
    """Whether this command line, or what a shell or a container's client in it runs, serves on the profile's port."""
    words = tuple(" ".join(command).split())
    services = (one for place in range(len(words)) for one in _servers(words[place : place + _MOST_WORDS]))
    first = next(services, None)
    return first is not None and first.port == profile.port


def _servers(words: tuple[str, ...]) -> Iterator[Service]:
    """The service that a process with this command line would be."""
    process = Process(
        pid=2, ppid=1, pgid=2, sid=2, state="S", threads=1, comm="", start_ticks=0, cmdline=words
    )
    for engine in engines():
        yield from engine.find_services((process,))


def _units(found: Supervisors, profile: Profile) -> Iterator[Supervisor]:
    for unit in found.units:
        idle = unit.sub == "auto-restart" and not unit.pids and not unit.name.startswith(OURS)
        if idle and serves(unit.command, profile):
            yield Supervisor(title=f"{unit_title(unit)}{WAITS}", unit=unit)


def _containers(found: Supervisors, profile: Profile) -> Iterator[Supervisor]:
    for one in found.containers:
        if one.status == "restarting" and not one.pid and serves(one.command, profile):
            yield Supervisor(title=f"{container_title(one)}{WAITS}", container=one)


def _loops(found: Supervisors, table: ProcessTable, profile: Profile) -> Iterator[Supervisor]:
    """A shell whose script starts the service, with no server under it; a unit that it runs in comes in its place."""
    scripts = dict[int, list[str]]()
    for pid, line in found.scripts:
        scripts.setdefault(pid, []).append(line)
    for shell in table.processes:
        texts = [*scripts.get(shell.pid, []), " ".join(shell.cmdline)]
        if not runs_script(shell) or not any(serves((text,), profile) for text in texts):
            continue
        below = table.descendants(shell)
        if any(service for one in below for service in _servers(one.cmdline)):
            continue  # it has one, which is found by that
        kept = Kept(table, (shell,), {shell.pid})
        keeping = supervisors_of(found, kept)
        if keeping:
            yield from keeping
            continue
        others = kept.others(one.pid for one in below)
        doubt = f"it runs other things as well: {others[0].pid} ({shown(others[0])})" if others else ""
        title = f"{loop_title(found, kept, shell)}{WAITS}"
        yield Supervisor(title=title, shells=(shell,), doubt=doubt)
