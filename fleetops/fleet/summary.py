"""What a node's facts add up to: where its memory is, who holds its GPUs, what is left of its ranks. Pure."""

from dataclasses import replace

from fleetops.checks.support.another import another
from fleetops.engines import engine
from fleetops.engines.attribution import attribute
from fleetops.engines.condition import Condition, condition
from fleetops.model.fact import Facts
from fleetops.model.finding import Baseline, Observation
from fleetops.model.gpu import GPUS, Gpu, Gpus
from fleetops.model.machine import CGROUP, HOLDERS, LISTENERS, MEMORY, PROCESSES, SEGMENTS, Process
from fleetops.model.report import (
    GpuHolder,
    GpuUse,
    HolderKind,
    Leftovers,
    MemoryHolder,
    MemoryUse,
    PortUse,
    RankUse,
    Summary,
    Verdict,
)
from fleetops.model.supervisor import SUPERVISORS, Supervisor
from fleetops.model.units import MB, MIB
from fleetops.steps.support.waiting import waiting

# An idle driver's own use differs a little from one minute to the next.
GPU_NOISE_BYTES = 256 * MIB
# Smaller processes say nothing about where a large node's memory went.
_WORTH_NAMING_BYTES = 200 * MB
_MOST_NAMED = 3


def summarise(observation: Observation, answer: PortUse | None = None) -> Summary:
    """The parts that can be said of this observation; `answer` is what the service's port said when it was asked."""
    memory = memory_use(observation)
    gpus = gpu_use(observation)
    ranks = rank_use(observation)
    port = answer or port_use(observation)
    leftovers = leftover_use(observation)
    return Summary(
        verdict=verdict(observation, gpus=gpus, ranks=ranks, port=port, leftovers=leftovers),
        memory=memory,
        gpus=gpus,
        ranks=ranks,
        port=port,
        leftovers=leftovers,
        supervisors=supervisors_seen(observation),
    )


def verdict(
    observation: Observation,
    *,
    gpus: GpuUse | None,
    ranks: RankUse | None,
    port: PortUse | None,
    leftovers: Leftovers | None,
) -> Verdict:
    """The one word. Without the process table nothing can be said; what is missing never counts as well."""
    if another(observation):
        return Verdict.ANOTHER
    if ranks is None:
        return Verdict.UNKNOWN
    conditions = {condition(service) for service in observation.services}
    if conditions & {Condition.WEDGED, Condition.ORPHANED}:
        return Verdict.WEDGED
    if gpus and gpus.lost:
        return Verdict.GPU_LOST
    if conditions:
        return Verdict.STARTING if Condition.STARTING in conditions else _verdict_of_port(port)
    if gpus is None or gpus.unread or leftovers is None:
        return Verdict.UNKNOWN
    dirty = gpus.ownerless or gpus.actions or gpus.failing or leftovers.count
    return Verdict.UNCLEAN if dirty or (port is not None and port.listens) else Verdict.IDLE


def _verdict_of_port(port: PortUse | None) -> Verdict:
    """Every rank is there: does the service answer? Silence alone does not prove it wedged (a long prefill)."""
    if port is None or port.listens is None:
        return Verdict.UNKNOWN
    if port.silent:
        return Verdict.SILENT
    return Verdict.STARTING if not port.listens or port.answers is False else Verdict.SERVING


def memory_use(observation: Observation) -> MemoryUse | None:
    """Where host memory is. What no process and no shared memory accounts for is named, not spread."""
    facts = observation.node_facts
    memory, table = facts.value(MEMORY), facts.value(PROCESSES)
    if memory is None:
        return None
    cgroup = facts.value(CGROUP)
    use = MemoryUse(
        total_bytes=memory.total_bytes,
        available_bytes=memory.available_bytes,
        shared_bytes=memory.shmem_bytes,
        room_bytes=cgroup.room_bytes if cgroup else None,
        oom_kills=cgroup.oom_kills if cgroup else 0,
    )
    if table is None:
        return use
    in_processes = sum(_own_bytes(process) for process in table)
    idle = _idle_bytes(observation.baseline, memory.total_bytes)
    # PSS and RSS hold the shared memory that is mapped; only what nobody maps comes on top.
    unmapped = max(0, memory.shmem_bytes - _mapped_segment_bytes(facts))
    return replace(
        use,
        processes_bytes=in_processes,
        idle_bytes=idle,
        unexplained_bytes=max(0, use.gone_bytes - in_processes - unmapped - idle),
        largest=_largest(table),
    )


def _own_bytes(process: Process) -> int:
    """PSS where it was read, else RSS; a zombie leader's memory shows in its threads only."""
    own = process.pss_bytes if process.pss_bytes is not None else process.rss_bytes
    return max([own, *(thread.rss_bytes or 0 for thread in process.live_threads)])


def _idle_bytes(baseline: Baseline | None, total_bytes: int) -> int:
    return max(0, total_bytes - baseline.available_bytes) if baseline else 0


def _mapped_segment_bytes(facts: Facts) -> int:
    return sum(segment.size_bytes for segment in facts.value(SEGMENTS) or () if segment.mappers)


def _largest(table: tuple[Process, ...]) -> tuple[MemoryHolder, ...]:
    held = [MemoryHolder(process=process, size_bytes=_own_bytes(process)) for process in table]
    named = [holder for holder in held if holder.size_bytes >= _WORTH_NAMING_BYTES]
    return tuple(sorted(named, key=lambda holder: -holder.size_bytes)[:_MOST_NAMED])


def gpu_use(observation: Observation) -> GpuUse | None:
    """What the node's own GPUs hold beyond their idle use, and who has their device files open."""
    gpus = observation.node_facts.value(GPUS)
    if gpus is None:
        return None
    idle = observation.baseline.gpu_used_bytes if observation.baseline else {}
    held = {gpu.index: _held_bytes(gpu, idle) for gpu in gpus.gpus}
    holders = gpu_holders(observation)
    opened = _opened_paths(observation, holders or ())
    return GpuUse(
        expected=observation.node.gpus,
        seen=len(gpus.gpus),
        total_bytes=sum(gpu.memory_total_bytes for gpu in gpus.gpus),
        held_bytes=sum(held.values()),
        holding=tuple(index for index, size in held.items() if size),
        ownerless=tuple(
            gpu.index for gpu in gpus.gpus if held[gpu.index] and f"/dev/nvidia{gpu.minor}" not in opened
        )
        if holders is not None
        else (),
        holders=holders,
        actions=_actions(gpus),
        failing={
            gpu.index: tuple(f"{field}: {text}" for field, text in gpu.failing)
            for gpu in gpus.gpus
            if gpu.failing
        },
        problems=gpus.problems,
        lost=len(gpus.lost),
        unread=not gpus.tells_memory,
    )


def _held_bytes(gpu: Gpu, idle: dict[str, int]) -> int:
    beyond = gpu.memory_used_bytes - idle.get(gpu.uuid, 0)
    return beyond if beyond > GPU_NOISE_BYTES else 0


def _opened_paths(observation: Observation, holders: tuple[GpuHolder, ...]) -> set[str]:
    """The device files that a process of some purpose has open; the driver's daemons open all of them."""
    pids = {holder.pid for holder in holders if holder.kind != "driver daemon"}
    return {holder.path for holder in observation.node_facts.value(HOLDERS) or () if holder.pid in pids}


def _actions(gpus: Gpus) -> dict[str, tuple[int, ...]]:
    actions: dict[str, tuple[int, ...]] = {}
    for gpu in gpus.gpus:
        if gpu.recovery_action not in {"", "None"}:
            actions[gpu.recovery_action] = (*actions.get(gpu.recovery_action, ()), gpu.index)
    return actions


def gpu_holders(observation: Observation) -> tuple[GpuHolder, ...] | None:
    """Each process with GPU device files open, and what it is to a service; None where that is not known."""
    holders, table = observation.node_facts.value(HOLDERS), observation.node_facts.value(PROCESSES)
    if holders is None or table is None:
        return None
    by_pid = {process.pid: process for process in table}
    daemons = {daemon.pid for daemon in attribute(observation).daemons}
    return tuple(
        GpuHolder(
            kind="driver daemon" if pid in daemons else _kind(observation, pid, by_pid.get(pid)),
            process=by_pid.get(pid),
            pid=pid,
        )
        for pid in sorted({holder.pid for holder in holders})
    )


def _kind(observation: Observation, pid: int, process: Process | None) -> HolderKind:
    ranks = {rank.process.pid for service in observation.services for rank in service.ranks}
    launchers = {service.launcher.pid for service in observation.services if service.launcher}
    others = {other.pid for service in observation.services for other in service.others}
    if process is not None and process.is_ghost_leader:
        return "zombie leader"
    if pid in ranks:
        return "rank in D" if process is not None and process.state == "D" else "live rank"
    if pid in launchers:
        return "launcher"
    return "other engine process" if pid in others else "process"


def rank_use(observation: Observation) -> RankUse | None:
    """The services' ranks by what is left of them; None without a process table."""
    table = observation.node_facts.value(PROCESSES)
    if table is None:
        return None
    ranks = [rank.process for service in observation.services for rank in service.ranks]
    zombies = tuple(process for process in ranks if process.is_zombie and not process.is_ghost_leader)
    by_pid = {process.pid: process for process in table}
    parents = dict.fromkeys(process.ppid for process in zombies)
    return RankUse(
        expected=_expected_ranks(observation),
        live=tuple(process for process in ranks if not process.is_zombie and process.state != "D"),
        zombies=zombies,
        ghosts=tuple(process for process in ranks if process.is_ghost_leader),
        stuck=tuple(process for process in ranks if process.state == "D"),
        negligent=tuple(by_pid[pid] for pid in parents if pid in by_pid),
    )


def _expected_ranks(observation: Observation) -> int | None:
    """As the flags say; None where a launcher is gone, and its flags with it."""
    if not observation.services or any(service.launcher is None for service in observation.services):
        return None
    return sum(engine(service.engine).expected_ranks(service.flags) for service in observation.services)


def port_use(observation: Observation) -> PortUse | None:
    """The service's port, or, without a service, the profile's; None where neither names one."""
    ports = [service.port for service in observation.services if service.port]
    if not ports and observation.profile:
        ports = [observation.profile.port]
    if not ports:
        return None
    listeners, table = observation.node_facts.value(LISTENERS), observation.node_facts.value(PROCESSES)
    if listeners is None:
        return PortUse(port=ports[0], listens=None)
    here = [listener for listener in listeners if listener.port == ports[0]]
    by_pid = {process.pid: process for process in table or ()}
    owners = dict.fromkeys(pid for listener in here for pid in listener.owners if pid in by_pid)
    return PortUse(port=ports[0], listens=bool(here), owners=tuple(by_pid[pid] for pid in owners))


def supervisors_seen(observation: Observation) -> tuple[Supervisor, ...]:
    """What would start the service again if it were only killed: what keeps a living one, and what waits to."""
    if observation.node_facts.value(SUPERVISORS) is None:
        return ()
    profile = observation.profile
    return (*attribute(observation).supervisors, *(waiting(observation, profile) if profile else ()))


def leftover_use(observation: Observation) -> Leftovers | None:
    """Shared memory of dead owners that nobody maps; None without the facts."""
    facts = observation.node_facts
    if facts.value(SEGMENTS) is None or facts.value(PROCESSES) is None:
        return None
    segments = attribute(observation).leftovers
    return Leftovers(count=len(segments), size_bytes=sum(segment.size_bytes for segment in segments))
