"""Whose process is it: what a recovery may end, and what stands in its way.

A process may be ended when two independent things speak for it: its place (under the launcher, in the launcher's own
process group or session, in the group of a recorded launch) or, where the launcher is gone, the engine's title in comm
together with the service's port or the GPUs' device files. A title, a command line or a held GPU alone only nominates.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetops.engines.condition import is_wedged
from fleetops.engines.support.leftovers import leftover_segments
from fleetops.engines.support.process_table import ProcessTable, own_group
from fleetops.engines.support.protected import protected
from fleetops.engines.support.strangers import Stranger, foreign_holders
from fleetops.engines.support.supervisors import Kept, loop_shells, supervisors_of
from fleetops.model.engine import SERVICE_RECORDS, Service, ServiceRecord
from fleetops.model.finding import Observation
from fleetops.model.machine import HOLDERS, LISTENERS, PROCESSES, Process, Segment
from fleetops.model.supervisor import SUPERVISORS, Supervisor


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Who is who on a node.

    Attributes:
        known: the process table could be read; without it nothing is anybody's.
        services: the engine instances that a recovery of this node is about.
        others: engine instances that it is not about: another port's, in order.
        processes: all that may be ended, launchers first; dead ones included.
        why: pid -> what shows that it is the service's.
        groups: process groups that hold nothing but `processes`, so that a signal to the group meets no one else.
        nominated: processes that look like the engine's, with too little to show for it: never signalled.
        strangers: holders of GPU device files that belong to no service; None where holders could not be read.
        daemons: holders that belong to the driver (persistence, fabric, monitoring).
        leftovers: shared memory of dead owners that nobody maps.
        supervisors: what starts the services again, outermost first; the shells of a loop are among `processes`.
    """

    known: bool
    services: tuple[Service, ...] = ()
    others: tuple[Service, ...] = ()
    processes: tuple[Process, ...] = ()
    why: dict[int, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    nominated: tuple[Process, ...] = ()
    strangers: tuple[Stranger, ...] | None = None
    daemons: tuple[Process, ...] = ()
    leftovers: tuple[Segment, ...] = ()
    supervisors: tuple[Supervisor, ...] = ()

    @property
    def living(self) -> tuple[Process, ...]:
        """Those of `processes` that still hold something."""
        return tuple(process for process in self.processes if process.is_alive)


def attribute(observation: Observation, *, earlier: Iterable[Process] = ()) -> Attribution:
    """Sort a node's processes by whose they are; pure, to be asked again right before each signal.

    `earlier` are processes that were the service's a moment ago, before others of it ended: what is left of them,
    by pid and start time, still is, though the launcher or the port that showed it may be gone.
    """
    processes = observation.node_facts.value(PROCESSES)
    if processes is None:
        return Attribution(known=False)
    table = ProcessTable(processes)
    targets = target_services(observation)
    others = tuple(service for service in observation.services if service not in targets)
    before = tuple(earlier)
    why = {**_left_of(table, before), **_reasons(observation, table, targets, others)}
    keepers = observation.node_facts.get(SUPERVISORS)
    kept = Kept(table, _kept(table, targets, why), set(why))
    why.update((shell.pid, "the shell that starts it again") for shell in loop_shells(kept))
    own = _launchers_first(table, targets, why)
    looks_alike = {
        process.pid: process for service in targets for process in service.processes if process.is_alive
    }
    elsewhere = {process.pid for service in others for process in service.processes}
    strangers, daemons = foreign_holders(observation, table, elsewhere.union(why))
    return Attribution(
        known=True,
        services=targets,
        others=others,
        processes=own,
        why=why,
        groups=_own_groups(table, own),
        nominated=tuple(process for pid, process in looks_alike.items() if pid not in why),
        strangers=strangers,
        daemons=daemons,
        leftovers=leftover_segments(observation, {*why, *(process.pid for process in before)}),
        supervisors=supervisors_of(keepers, kept),
    )


def target_services(observation: Observation) -> tuple[Service, ...]:
    """The services that a recovery of this node is about.

    Those on the profile's port, those a record names for the profile, and orphans. Where no service is on that port,
    one that is wedged counts as well (the incident, started by hand on another port); a healthy one never does.
    Without a profile: orphans, and the only other service there is.
    """
    orphans = [service for service in observation.services if service.launcher is None]
    led = [service for service in observation.services if service.launcher is not None]
    profile = observation.profile
    if profile is None:
        return (*orphans, *(led if len(led) == 1 else ()))
    recorded = {record.pid for record in _records(observation) if record.profile == profile.name}
    ours = [one for one in led if one.port == profile.port or (one.launcher and one.launcher.pid in recorded)]
    if not ours:
        ours = [one for one in led if is_wedged(one)]
    return (*ours, *orphans)


def _records(observation: Observation) -> tuple[ServiceRecord, ...]:
    return observation.node_facts.value(SERVICE_RECORDS) or ()


def _reasons(
    observation: Observation, table: ProcessTable, targets: Iterable[Service], others: Iterable[Service]
) -> dict[int, str]:
    """Pid -> why it is the service's, for all that is, and that nothing protects."""
    why: dict[int, str] = {}
    for service in targets:
        if service.launcher:
            found = _under_launcher(table, service, service.launcher)
        else:
            found = _proven_orphans(observation, table, service)
        for process, reason in found:
            why.setdefault(process.pid, reason)
    for process, reason in _of_records(observation, table, tuple(targets)):
        why.setdefault(process.pid, reason)
    foreign = {process.pid for service in others for process in service.processes}
    return {
        pid: reason for pid, reason in why.items() if pid not in foreign and not protected(table.by_pid[pid])
    }


def _left_of(table: ProcessTable, earlier: Iterable[Process]) -> dict[int, str]:
    """Those of `earlier` that are still there: pid and start time agree."""
    there = ((process, table.by_pid.get(process.pid)) for process in earlier)
    return {
        found.pid: "was the service's a moment ago"
        for process, found in there
        if found and found.start_ticks == process.start_ticks and not protected(found)
    }


def _under_launcher(table: ProcessTable, service: Service, launcher: Process) -> list[tuple[Process, str]]:
    """The launcher, its tree with the workers that were cut loose from it, and the group and session it leads itself."""
    found = [(launcher, "the launcher")]
    found += [(process, f"started by the launcher {launcher.pid}") for process in service.processes]
    # A group or session is the service's own only if the launcher leads it; otherwise it is a script's or a login's.
    # Of PID 1 everything is a descendant, and every group's.
    if launcher.pid == 1:
        return found
    if launcher.pgid == launcher.pid:
        found += [
            (process, f"in the process group of the launcher {launcher.pid}")
            for process in table.group(launcher.pid)
        ]
    if launcher.sid == launcher.pid:
        found += [
            (process, f"in the session of the launcher {launcher.pid}")
            for process in table.session(launcher.pid)
        ]
    return found


def _proven_orphans(
    observation: Observation, table: ProcessTable, service: Service
) -> list[tuple[Process, str]]:
    """Orphans of one group share one proof: the recorded launch, the service's port, or the GPUs' files."""
    known = observation.node_facts
    recorded = _recorded_group(observation, table, service)
    ports = {record.port for record in _records(observation)}
    ports |= {observation.profile.port} if observation.profile else set()
    port_owners = {pid for one in known.value(LISTENERS) or () if one.port in ports for pid in one.owners}
    gpu_holders = {holder.pid for holder in known.value(HOLDERS) or ()}
    proofs = (
        (recorded, "of the process group of a recorded launch"),
        (port_owners, "an orphan by its title, of the group that holds the service's port"),
        (gpu_holders, "an orphan by its title, of a group that holds GPU device files"),
    )
    members = [process for process in service.processes if process.pid in table.by_pid]
    for pids, reason in proofs:
        proven = [process for process in members if process.pid in pids]
        groups = {own_group(process) for process in proven} - {0}
        found = [p for p in members if p in proven or own_group(p) in groups]
        if found:
            below = {p.pid: p for one in found for p in table.descendants(one)}
            return [(process, reason) for process in {**{p.pid: p for p in found}, **below}.values()]
    return []


def _recorded_group(observation: Observation, table: ProcessTable, service: Service) -> set[int]:
    """Members in the group or session of a recorded launch whose process is gone.

    The kernel gives no new process the number of a group or session that still has members, so a process of that
    number with another start time means that the record is stale.
    """
    gone = {
        record.pid
        for record in _records(observation)
        if (there := table.by_pid.get(record.pid)) is None or there.start_ticks == record.start_ticks
    }
    return {process.pid for process in service.processes if {process.pgid, process.sid} & gone}


def _of_records(
    observation: Observation, table: ProcessTable, targets: tuple[Service, ...]
) -> list[tuple[Process, str]]:
    """What a recorded launch started: its process by pid and start time, its tree, group, session and unit."""
    launchers = {service.launcher.pid for service in targets if service.launcher}
    found: list[tuple[Process, str]] = []
    for record in _records(observation):
        process = table.by_pid.get(record.pid)
        if process is None or process.start_ticks != record.start_ticks:
            continue
        below = table.descendants(process, below=lambda one: not protected(one))
        if not launchers.intersection((process.pid, *(one.pid for one in below))):
            continue
        members = (
            process,
            *below,
            *table.group(process.pid),
            *table.session(process.pid),
            *_unit(table, process),
        )
        found += [(member, f"of the recorded launch {record.run_id or record.pid}") for member in members]
    return found


def _unit(table: ProcessTable, process: Process) -> tuple[Process, ...]:
    """All in the recorded process's own systemd unit; a login's scope or a unit that holds anything else is no unit."""
    name = process.cgroup.rpartition("/")[2]
    if not name.endswith((".service", ".scope")) or name.startswith(("session-", "user@", "init.")):
        return ()
    members = tuple(one for one in table.processes if one.cgroup == process.cgroup)
    return () if any(protected(one) for one in members) else members


def _kept(table: ProcessTable, targets: Iterable[Service], why: dict[int, str]) -> tuple[Process, ...]:
    """What a supervisor of these services looks after: their launchers, of orphans each that lives."""
    heads = (
        process
        for service in targets
        for process in ((service.launcher,) if service.launcher else service.processes)
    )
    return tuple(table.by_pid[one.pid] for one in heads if one.is_alive and one.pid in why)


def _launchers_first(
    table: ProcessTable, targets: tuple[Service, ...], why: dict[int, str]
) -> tuple[Process, ...]:
    launchers = [service.launcher.pid for service in targets if service.launcher]
    order = [*launchers, *(rank.process.pid for service in targets for rank in service.ranks), *why]
    return tuple(table.by_pid[pid] for pid in dict.fromkeys(order) if pid in why)


def _own_groups(table: ProcessTable, own: tuple[Process, ...]) -> tuple[int, ...]:
    pids = {process.pid for process in own}
    groups = dict.fromkeys(process.pgid for process in own)
    return tuple(
        pgid for pgid in groups if (members := table.group(pgid)) and all(one.pid in pids for one in members)
    )
