"""Is everything back? The before/after table, and the single facts that a playbook's `until` names. Pure."""

from collections.abc import Callable

from fleetops.engines.attribution import attribute
from fleetops.engines.support.protected import serves_driver
from fleetops.model.fact import Facts
from fleetops.model.finding import Baseline, Observation
from fleetops.model.gpu import GPUS, Gpus
from fleetops.model.guest import HOST_HOLDERS
from fleetops.model.machine import HOLDERS, LISTENERS, MEMORY, PROCESSES, SEGMENTS, Listener
from fleetops.model.record import ReclaimRow
from fleetops.model.units import MIB, show_gb, show_gib

# An idle driver's own use differs a little from one minute to the next (facts: 0 to a few MiB per GPU).
GPU_MARGIN_BYTES = 256 * MIB

UNTIL_FACTS = {
    "ranks": "no process or thread of the service is left",
    "holders": "nothing of the service holds a GPU's device file, on the node or as its hypervisor sees it",
    "gpu-memory": "GPU memory is back at its idle use on every GPU",
    "gpu-count": "every GPU of the node is there",
    "host-memory": "MemAvailable is back at the idle node's",
    "leftovers": "no shared memory of dead owners is left",
    "port": "the service's port is free",
}


def reclaim_rows(before: Observation, after: Observation) -> tuple[ReclaimRow, ...]:
    """The table: each thing that a service takes, before and after, beside the idle node's."""
    judges: tuple[Callable[[Observation, Observation], ReclaimRow], ...] = (
        _host_memory,
        _gpu_memory,
        _gpu_count,
        _ranks,
        _holders,
        _port,
        _leftovers,
    )
    return tuple(judge(before, after) for judge in judges)


def missing_facts(rows: tuple[ReclaimRow, ...], wanted: tuple[str, ...]) -> tuple[ReclaimRow, ...]:
    """The rows among `wanted` that are not (known to be) back."""
    return tuple(row for row in rows if row.fact in wanted and not row.ok)


def told(rows: tuple[ReclaimRow, ...]) -> str:
    """Rows that are not back, for a person."""
    return ", ".join(f"{row.name} {row.after} (idle {row.idle})" for row in rows)


def gpu_facts(observation: Observation) -> Gpus | None:
    """The node's GPUs as the node sees them."""
    return observation.node_facts.value(GPUS)


def _host_memory(before: Observation, after: Observation) -> ReclaimRow:
    then, now = before.node_facts.value(MEMORY), after.node_facts.value(MEMORY)
    baseline = after.baseline or before.baseline
    ok = (
        None
        if now is None or baseline is None
        else now.available_bytes >= baseline.available_bytes - baseline.margin_bytes
    )
    return ReclaimRow(
        name="MemAvailable",
        fact="host-memory",
        before=show_gb(then.available_bytes) if then else "unknown",
        after=show_gb(now.available_bytes) if now else "unknown",
        idle=show_gb(baseline.available_bytes) if baseline else "unknown",
        ok=ok,
        note=baseline.source if baseline else "",
    )


def _gpu_memory(before: Observation, after: Observation) -> ReclaimRow:
    then, now = gpu_facts(before), gpu_facts(after)
    baseline = after.baseline or before.baseline
    idle = baseline.gpu_used_bytes if baseline else {}
    return ReclaimRow(
        name="GPU memory",
        fact="gpu-memory",
        before=_held(then),
        after=_held(now),
        idle=show_gib(sum(idle.values())),
        ok=gpus_are_free(now, baseline),
    )


def gpus_are_free(gpus: Gpus | None, baseline: Baseline | None) -> bool | None:
    """Every GPU at its idle use; None where that cannot be said: no GPU seen, or one whose memory is unreadable."""
    if gpus is None or not gpus.tells_memory:
        return None
    idle = baseline.gpu_used_bytes if baseline else {}
    return all(gpu.memory_used_bytes <= idle.get(gpu.uuid, 0) + GPU_MARGIN_BYTES for gpu in gpus.gpus)


def _held(gpus: Gpus | None) -> str:
    if gpus is None or not gpus.tells_memory:
        return "unknown"
    return show_gib(sum(gpu.memory_used_bytes for gpu in gpus.gpus))


def _gpu_count(before: Observation, after: Observation) -> ReclaimRow:
    then, now, expected = gpu_facts(before), gpu_facts(after), after.node.gpus
    wanted = expected if expected is not None else (len(then.gpus) if then else None)
    ok = None if now is None or wanted is None else len(now.gpus) == wanted and not now.problems
    return ReclaimRow(
        name="GPUs",
        fact="gpu-count",
        before=str(len(then.gpus)) if then else "unknown",
        after=str(len(now.gpus)) if now else "unknown",
        idle=str(wanted) if wanted is not None else "unknown",
        ok=ok,
    )


def _ranks(before: Observation, after: Observation) -> ReclaimRow:
    found = attribute(after, earlier=attribute(before).processes)
    # What only looks like the service's is never signalled, and while it lives the node is not called clean.
    left = (*found.living, *(process for process in found.nominated if process.is_alive))
    return ReclaimRow(
        name="service processes",
        fact="ranks",
        before=_count_processes(before),
        after=_count_processes(after),
        idle="0",
        ok=not left if found.known else None,
    )


def _count_processes(observation: Observation) -> str:
    if observation.node_facts.value(PROCESSES) is None:
        return "unknown"
    found = attribute(observation).processes
    dead = sum(1 for process in found if process.is_zombie)
    return f"{len(found)}, {dead} dead" if dead else str(len(found))


def _holders(before: Observation, after: Observation) -> ReclaimRow:
    now = _count_holders(after)
    return ReclaimRow(
        name="GPU file holders",
        fact="holders",
        before=_shown(_count_holders(before)),
        after=_shown(now),
        idle="0",
        ok=None if now is None else now == 0,
    )


def _shown(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _count_holders(observation: Observation) -> int | None:
    """Processes that hold device files, in the node's own view or the hypervisor's, whichever sees more."""
    found = attribute(observation)
    inside = observation.node_facts.value(HOLDERS)
    if inside is None or not found.known:
        return None
    daemons = {process.pid for process in found.daemons}
    own = {holder.pid for holder in inside} - daemons
    return max(len(own), len(_held_from_outside(observation.hypervisor_facts, observation)))


def _held_from_outside(facts: Facts | None, observation: Observation) -> set[int]:
    guest = observation.node.guest
    seen = facts.value(HOST_HOLDERS) if facts else None
    if seen is None or guest is None:
        return set()
    return {one.pid for one in seen if one.guest_id == guest.id and not serves_driver(one.comm)}


def _port(before: Observation, after: Observation) -> ReclaimRow:
    """What somebody else listens on is not the service's to give back: that is said, and stands against a start."""
    ports = service_ports(before) | service_ports(after)
    then, now = _listening(before, ports), _listening(after, ports)
    strangers = _strangers(before, after, now or ())
    shown = (
        "held" if strangers is None else f"held by pid {', '.join(map(str, strangers))}, not the service's"
    )
    return ReclaimRow(
        name=f"port {', '.join(map(str, sorted(ports)))}" if ports else "port",
        fact="port",
        before="unknown" if then is None else ("held" if then else "free"),
        after="unknown" if now is None else (shown if now else "free"),
        idle="free",
        ok=None if now is None else strangers is not None,
    )


def _strangers(before: Observation, after: Observation, now: tuple[Listener, ...]) -> tuple[int, ...] | None:
    """Who listens, where all of them are shown to be nobody of the service's; None where one may be."""
    found = attribute(after, earlier=attribute(before).processes)
    ours = {process.pid for process in (*found.processes, *found.nominated)}
    owners = {pid for listener in now for pid in listener.owners}
    if ours & owners or not all(listener.owners for listener in now):
        return None
    return tuple(sorted(owners))


def service_ports(observation: Observation) -> set[int]:
    """The ports that the profile, the services found and their records name."""
    ports = {service.port for service in observation.services if service.port}
    return ports | ({observation.profile.port} if observation.profile else set())


def _listening(observation: Observation, ports: set[int]) -> tuple[Listener, ...] | None:
    listeners = observation.node_facts.value(LISTENERS)
    return None if listeners is None else tuple(one for one in listeners if one.port in ports)


def _leftovers(before: Observation, after: Observation) -> ReclaimRow:
    now = after.node_facts.value(SEGMENTS)
    return ReclaimRow(
        name="shared memory",
        fact="leftovers",
        before=_segments_shown(before),
        after=_segments_shown(after),
        idle="0 left over",
        ok=None if now is None else not attribute(after).leftovers,
    )


def _segments_shown(observation: Observation) -> str:
    if observation.node_facts.value(SEGMENTS) is None:
        return "unknown"
    leftovers = attribute(observation).leftovers
    return f"{len(leftovers)} left over" + (
        f", {show_gb(sum(s.size_bytes for s in leftovers))}" if leftovers else ""
    )
