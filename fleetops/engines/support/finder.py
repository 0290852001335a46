"""Finding services in a process table: launchers with what hangs under them, and the orphans of dead ones.

What names a process is its comm (the kernel keeps it for zombies, whose command line is gone) and its place in the
table. A command line counts only where it shows what the process itself runs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fleetops.engines.support.command_line import program, read_flags
from fleetops.engines.support.process_table import ProcessTable, own_group
from fleetops.engines.support.protected import COMM_LENGTH, protected
from fleetops.model.engine import Rank, Service, ServiceRecord
from fleetops.model.machine import Listener, Process


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How an engine's processes look.

    Attributes:
        is_worker: whether a process, alive or dead, is one of the engine's own workers, by its title.
        ranks: all processes below a launcher and its flags (None: it is gone) -> the pids of those that are ranks.
        rank_number: title -> tensor-parallel rank, None where it does not say.
        server_arguments: an argv -> the arguments of the server it runs; None where it runs something else.
        default_port: the port that the engine takes when none is given.
    """

    engine: str
    is_worker: Callable[[Process], bool]
    ranks: Callable[[tuple[Process, ...], Mapping[str, str] | None], frozenset[int]]
    rank_number: Callable[[str], int | None]
    server_arguments: Callable[[tuple[str, ...]], tuple[str, ...] | None]
    default_port: int

    def is_server(self, process: Process) -> bool:
        """A launcher, by what it runs."""
        return self.server_arguments(process.cmdline) is not None


def titled(start: str) -> Callable[[Process], bool]:
    """Whether a process bears a title that starts so: comm shows its first 15 bytes, and a zombie keeps them."""
    return lambda process: process.comm.startswith(start[:COMM_LENGTH])


def apart(processes: Iterable[Process]) -> frozenset[int]:
    """The pids, without those that one of them has just forked and that still bear its title."""
    known = {process.pid: process for process in processes}
    return frozenset(pid for pid, process in known.items() if process.ppid not in known)


def find_services(
    shape: Shape,
    processes: Iterable[Process],
    listeners: Iterable[Listener] = (),
    records: Iterable[ServiceRecord] = (),
) -> tuple[Service, ...]:
    """Every service of this engine, by its launcher or, where that is gone, by the process group it left behind."""
    table = ProcessTable(tuple(processes))
    own_records = tuple(record for record in records if record.engine == shape.engine)
    recorded = _recorded(table, own_records)
    launchers = _launchers(shape, table, recorded)
    listening = tuple(listeners)
    services = []
    claimed: set[int] = set()
    for launcher in launchers:
        found = _members(shape, table, launcher, launchers)
        claimed.update(process.pid for process in (launcher, *found))
        port = _port(shape, launcher, found, listening, recorded.get(launcher.pid))
        services.append(_service(shape, launcher, found, port))
    services += _orphaned(shape, table, claimed, own_records)
    return tuple(services)


def _recorded(table: ProcessTable, records: Iterable[ServiceRecord]) -> dict[int, ServiceRecord]:
    """Launches on record whose process is still there: pid and start time agree."""
    there = ((record, table.by_pid.get(record.pid)) for record in records)
    return {
        record.pid: record
        for record, process in there
        if process and process.start_ticks == record.start_ticks
    }


def _launchers(shape: Shape, table: ProcessTable, recorded: dict[int, ServiceRecord]) -> tuple[Process, ...]:
    """Outermost servers; a dead leader that workers hang under; a recorded process that has lost its command line."""

    def looks(process: Process) -> bool:
        return shape.is_server(process) or _leads_workers(shape, table, process)

    servers = [
        p for p in table.processes if looks(p) and not any(looks(above) for above in table.ancestors(p))
    ]
    servers += [
        table.by_pid[pid] for pid in recorded if _stands_alone(shape, table, table.by_pid[pid], servers)
    ]
    return tuple(servers)


def _leads_workers(shape: Shape, table: ProcessTable, process: Process) -> bool:
    """A zombie leader with live threads keeps its children; its command line is gone, theirs name it."""
    if not process.is_ghost_leader or shape.is_worker(process):
        return False
    return any(shape.is_worker(child) for child in table.processes if child.ppid == process.pid)


def _stands_alone(shape: Shape, table: ProcessTable, process: Process, servers: list[Process]) -> bool:
    """Whether a recorded process with no server above or below it is this engine's: a zombie, or one with workers."""
    above, below = tuple(table.ancestors(process)), table.descendants(process)
    if any(one in servers for one in (process, *above, *below)):
        return False
    return process.is_zombie or any(shape.is_worker(one) for one in below)


def _members(
    shape: Shape, table: ProcessTable, launcher: Process, launchers: tuple[Process, ...]
) -> tuple[Process, ...]:
    """All under the launcher, and workers of its group that a dead parent between them has cut loose."""
    below = table.descendants(launcher, below=lambda process: not protected(process))
    if launcher.pid == 1:  # a container's first process: whatever is in it hangs under it
        below = tuple(process for process in below if shape.is_worker(process))
    known = {launcher.pid, *(process.pid for process in below)}
    if sum(own_group(one) == own_group(launcher) for one in launchers) > 1:
        return below
    cut_loose = [
        process
        for process in table.group(launcher.pgid)
        if process.pid not in known
        and shape.is_worker(process)
        and not any(above in launchers for above in table.ancestors(process))
    ]
    return (*below, *cut_loose)


def _service(
    shape: Shape, launcher: Process | None, members: tuple[Process, ...], port: int | None
) -> Service:
    arguments = shape.server_arguments(launcher.cmdline) if launcher else None
    flags = read_flags(arguments or ())
    ranks, others = _sorted_out(shape, members, flags if launcher else None)
    return Service(engine=shape.engine, launcher=launcher, ranks=ranks, others=others, port=port, flags=flags)


def _sorted_out(
    shape: Shape, members: tuple[Process, ...], flags: Mapping[str, str] | None
) -> tuple[tuple[Rank, ...], tuple[Process, ...]]:
    """Ranks and the rest."""
    rank_pids = shape.ranks(members, flags)
    ranks, others = [], []
    for process in members:
        if process.pid in rank_pids:
            ranks.append(
                Rank(number=shape.rank_number(process.cmdline[0] if process.cmdline else ""), process=process)
            )
        else:
            others.append(process)
    ranks.sort(key=lambda rank: (rank.number is None, rank.number or 0, rank.process.pid))
    return tuple(ranks), tuple(others)


def _port(
    shape: Shape,
    launcher: Process,
    members: tuple[Process, ...],
    listeners: tuple[Listener, ...],
    record: ServiceRecord | None,
) -> int | None:
    """As the command line says; a launcher that has lost its own is known by its record or by what it listens on."""
    arguments = shape.server_arguments(launcher.cmdline)
    if arguments is not None:
        # A positional argument may follow it (`vllm serve --port P MODEL`).
        said = read_flags(arguments).get("port", str(shape.default_port)).partition(" ")[0]
        return int(said) if said.isdecimal() else None
    if record:
        return record.port
    own = {launcher.pid, *(process.pid for process in members)}
    ports = {listener.port for listener in listeners if own.intersection(listener.owners)}
    return ports.pop() if len(ports) == 1 else None


def _orphaned(
    shape: Shape, table: ProcessTable, claimed: set[int], records: Iterable[ServiceRecord]
) -> list[Service]:
    """Workers without a launcher, one service for each group that a dead launcher left behind.

    Workers that never had a title are known by the group or session of a recorded launch, which is its dead process's.
    """
    gone = {record.pid for record in records if record.pid not in table.by_pid}

    def free(process: Process) -> bool:
        return process.pid not in claimed and not protected(process)

    def looks(process: Process) -> bool:
        untitled = gone.intersection((process.pgid, process.sid)) and is_python_helper(process)
        return shape.is_worker(process) or bool(untitled)

    strays = {process.pid for process in table.processes if looks(process) and free(process)}
    roots = [
        p
        for p in table.processes
        if p.pid in strays
        and strays.isdisjoint(a.pid for a in table.ancestors(p))
        and not _is_raised(table, p)
    ]
    groups: dict[int, dict[int, Process]] = {}
    taken: set[int] = set()
    for root in roots:
        members = [root, *table.descendants(root, below=free)]
        group = groups.setdefault(own_group(root), {})
        group.update({process.pid: process for process in members if process.pid not in taken})
        taken.update(group)
    for number, group in groups.items():
        helpers = (
            one for one in table.group(number) if is_python_helper(one) and free(one) and one.pid not in taken
        )
        group.update({process.pid: process for process in helpers})
    return [_service(shape, None, tuple(group.values()), None) for group in groups.values() if group]


def _is_raised(table: ProcessTable, process: Process) -> bool:
    """Whether a living parent still looks after it: a batch job's own engine, say, which is no orphan of a server."""
    parent = table.by_pid.get(process.ppid)
    return parent is not None and parent.is_alive and not protected(parent)


def is_python_helper(process: Process) -> bool:
    """A process that Python's multiprocessing starts: a child before it has its title, or the resource tracker."""
    running = program(process.cmdline)
    return bool(running and running.kind == "code" and running.name.startswith("from multiprocessing."))


def is_spawned_helper(process: Process) -> bool:
    """A child that Python's multiprocessing has spawned and that has no title (yet)."""
    return is_python_helper(process) and any(
        word.startswith("from multiprocessing.spawn") for word in process.cmdline
    )
