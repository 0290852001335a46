"""Whose supervisors they are: the units, containers and loops that start a service again, outermost first. Pure.

A supervisor may be stopped when what it has under it is the service's alone; one of which that cannot be shown is
named, and refuses the stop.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fleetops.engines.support.command_line import file_name
from fleetops.engines.support.process_table import ProcessTable
from fleetops.engines.support.protected import protected, runs_script
from fleetops.model.fact import Missing
from fleetops.model.machine import Process
from fleetops.model.secrets import mask_text
from fleetops.model.supervisor import Container, Supervisor, Supervisors, Unit

OURS = "fleetops-"
"""What the names of units begin with that launches by fleetops make."""

# Programs that start their children again and that fleetops cannot speak to, by the beginning of comm.
_PROGRAMS = (
    "supervisord",
    "runsv",
    "s6-supervise",
    "supervise",
    "monit",
    "circusd",
    "PM2 ",
    "god",
    "nodemon",
)
# What stands beside a server in a script's pipeline, or while the script waits: it ends with the script.
_HELPERS = frozenset(
    {
        "sleep",
        "tee",
        "cat",
        "ts",
        "logger",
        "rotatelogs",
        "multilog",
        "awk",
        "mawk",
        "gawk",
        "sed",
        "grep",
        "env",
    }
    | {"stdbuf", "nice", "numactl", "timeout", "script", "unbuffer", "docker", "podman", "conmon"}
)
_LONGEST_TITLE = 100
_RUNTIMES = frozenset({"docker", "podman"})


@dataclass(frozen=True)
class Kept:
    """A service's launchers on a node, and what is known to be its own.

    Attributes:
        launchers: the living processes of the service that something may be looking after.
        own: the pids that are attributed to it.
    """

    table: ProcessTable
    launchers: tuple[Process, ...]
    own: Collection[int]

    def above(self) -> tuple[Process, ...]:
        """What is above the launchers, nearest first, up to what keeps logins or the machine alive."""
        found: dict[int, Process] = {}
        for launcher in self.launchers:
            for one in self.table.ancestors(launcher):
                if protected(one):
                    break
                found[one.pid] = one
        return tuple(found.values())

    def others(self, pids: Iterable[int]) -> tuple[Process, ...]:
        """Who among them is neither the service's, nor above it, nor a mere helper."""
        known = {*self.own, *(one.pid for one in self.above())}
        here = (self.table.by_pid[pid] for pid in pids if pid in self.table.by_pid and pid not in known)
        return tuple(one for one in here if one.is_alive and one.comm not in _HELPERS)


def supervisors_of(found: Supervisors | Missing, kept: Kept) -> tuple[Supervisor, ...]:
    """Everything that starts the service again, outermost first; what cannot be told refuses."""
    if not kept.launchers:
        return ()
    if isinstance(found, Missing):
        doubt = f"what would start it again could not be read ({found})"
        return (Supervisor(title="a supervisor that may be there", doubt=doubt),)
    containers = tuple(_containers(found, kept))
    inside = [one.container for one in containers if one.container]
    units = tuple(_units(found, kept, inside))
    loops = tuple(_loops(found, kept, covered=(*units, *containers)))
    return (*_programs(kept), *units, *containers, *_untold(found, kept, inside), *loops)


def loop_shells(kept: Kept) -> tuple[Process, ...]:
    """The shells above the service that have nothing else under them, outermost first."""
    shells = [one for one in reversed(kept.above()) if runs_script(one)]
    return tuple(one for one in shells if not _beside(kept, one))


def _beside(kept: Kept, shell: Process) -> tuple[Process, ...]:
    return kept.others(one.pid for one in kept.table.descendants(shell))


def _programs(kept: Kept) -> Iterator[Supervisor]:
    for launcher in kept.launchers:
        for one in kept.table.ancestors(launcher):
            if one.comm.startswith(_PROGRAMS):
                title = f"pid {one.pid} ({shown(one)})"
                yield Supervisor(
                    title=title, doubt="fleetops cannot speak to it: stop the service through it"
                )
                break


def _units(found: Supervisors, kept: Kept, containers: list[Container]) -> Iterator[Supervisor]:
    for unit in found.units:
        if unit.name.startswith(OURS) or not _keeps(unit, kept, containers):
            continue
        doubt = _unit_doubt(unit, kept)
        if doubt is not None:
            yield Supervisor(title=unit_title(unit), unit=unit, doubt=doubt)


def _keeps(unit: Unit, kept: Kept, containers: list[Container]) -> bool:
    """The service lives in it, or it runs what looks after the service's container."""
    pids = set(unit.pids)
    inside = {one.pid for one in kept.launchers}
    keepers = {above.pid for one in containers for above in _above(kept, one)}
    if pids & inside or (unit.main_pid and unit.main_pid in keepers):
        return True
    words = {word for word in unit.command if not word.startswith("-")}
    by_runtime = bool(unit.command) and file_name(unit.command[0]) in _RUNTIMES
    return by_runtime and unit.is_up and any(words & {one.name, one.id, one.image} for one in containers)


def _above(kept: Kept, container: Container) -> Iterator[Process]:
    first = kept.table.by_pid.get(container.pid)
    yield from kept.table.ancestors(first) if first else ()


def _unit_doubt(unit: Unit, kept: Kept) -> str | None:
    """Why the unit cannot be stopped; "" where it is the service's; None where the service merely lives in it.

    What is started over SSH or by cron lives in their units, which are no supervisors of it.
    """
    others = kept.others(unit.pids)
    above = {one.pid for one in (*kept.launchers, *kept.above())}
    if others and unit.main_pid not in above:
        main = kept.table.by_pid.get(unit.main_pid)
        if main is None and unit.restart != "no":
            return f"it holds other processes as well: {_named(others)}"
        return None
    if others and unit.main_pid not in {one.pid for one in kept.launchers}:
        return f"it runs other things as well: {_named(others)}"
    if unit.triggered_by:
        return f"it is started by {', '.join(unit.triggered_by)} too: stop that first"
    return ""


def _containers(found: Supervisors, kept: Kept) -> Iterator[Supervisor]:
    for one in found.containers:
        members = {one.pid, *one.pids} - {0}
        first = kept.table.by_pid.get(one.pid)
        if first:
            members |= {below.pid for below in kept.table.descendants(first)}
        if not members & {launcher.pid for launcher in kept.launchers}:
            continue
        others = kept.others(members)
        first_is_above = one.pid in {above.pid for above in (*kept.launchers, *kept.above())}
        doubt = f"it runs other things as well: {_named(others)}" if others and not first_is_above else ""
        yield Supervisor(title=container_title(one), container=one, doubt=doubt)


def _untold(found: Supervisors, kept: Kept, told: list[Container]) -> Iterator[Supervisor]:
    """A unit or container that only a cgroup's name tells of: whoever made it was not there to ask, or gave no answer."""
    known = {pid for one in told for pid in one.pids}
    places = dict(found.lives_in)
    names = {places[one.pid] for one in kept.launchers if one.pid in places and one.pid not in known}
    silent = f" ({', '.join(found.silent)} gave no answer)" if found.silent else ""
    for name in sorted(names):
        title = f"unit {name}" if name.endswith(".service") else f"container {name[:12]}"
        yield Supervisor(title=title, doubt=f"nothing that can be asked here knows it{silent}")


def _loops(found: Supervisors, kept: Kept, *, covered: tuple[Supervisor, ...]) -> Iterator[Supervisor]:
    """A shell above the service outside of any unit and container that was found to keep it."""
    inside = {pid for one in covered for place in (one.unit, one.container) if place for pid in place.pids}
    inside |= {one.container.pid for one in covered if one.container}
    shells = tuple(one for one in reversed(kept.above()) if runs_script(one) and one.pid not in inside)
    if not shells or any(_runs_inside(kept, shells[0], one) for one in covered):
        return
    others = _beside(kept, shells[0])
    doubt = f"it runs other things as well: {_named(others)}" if others else ""
    yield Supervisor(title=loop_title(found, kept, shells[0]), shells=shells, doubt=doubt)


def _runs_inside(kept: Kept, shell: Process, supervisor: Supervisor) -> bool:
    """Whether the shell is below a container's first process, where cgroups do not tell."""
    pid = supervisor.container.pid if supervisor.container else 0
    return any(above.pid == pid for above in kept.table.ancestors(shell))


def unit_title(unit: Unit) -> str:
    """`unit sglang.service (Restart=always, enabled)`, with its user where it is one of a user's manager."""
    of = f" of uid {unit.uid}" if unit.uid is not None else ""
    state = f", {unit.enabled}" if unit.enabled else ""
    return f"unit {unit.name}{of} (Restart={unit.restart}{state})"


def container_title(one: Container) -> str:
    """`container vllm (docker, restart always)`."""
    return f"container {one.name or one.id[:12]} ({one.runtime}, restart {one.restart or 'no'})"


def loop_title(found: Supervisors, kept: Kept, shell: Process) -> str:
    """`the shell sh /root/serve.sh (pid 1992, tmux session work)`."""
    above = {shell.pid, *(one.pid for one in kept.table.ancestors(shell))}
    where = next((one for one in found.terminals if one.pid in above), None)
    place = f", {where.program} session {where.name}" if where else ""
    return f"the shell {shown(shell)} (pid {shell.pid}{place})"


def shown(process: Process) -> str:
    """Its command line for a person: secrets masked, a long one (a whole script after `-c`) cut."""
    title = mask_text(process.title)
    return title if len(title) <= _LONGEST_TITLE else f"{title[:_LONGEST_TITLE]}…"


def _named(processes: tuple[Process, ...]) -> str:
    named = ", ".join(f"{one.pid} ({shown(one)})" for one in processes[:3])
    return f"{named} and {len(processes) - 3} more" if processes[3:] else named
