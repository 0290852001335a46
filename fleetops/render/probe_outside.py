"""What is known of a node from outside it, and what is not known at all."""

from collections.abc import Iterator

from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.guest import GUEST, GUESTS, HOST_HOLDERS, TASKS
from fleetops.model.report import Report
from fleetops.render.rows import Row

# Absent is the normal state of these; it is no gap in what is known.
_MAY_BE_ABSENT = {
    *("service-records", "engine-source", "cgroup", "holders", "supervisors", "device-services"),
    *("host-holders", "claims", "arc", "ssh-answer"),
}
_IN_WORDS = {
    "identity": "identity",
    "memory": "memory",
    "cgroup": "cgroup limits",
    "processes": "process table",
    "listeners": "listening ports",
    "holders": "GPU file holders",
    "segments": "shared memory",
    "gpus": "GPUs",
    "engine-source": "engine source",
    "service-records": "launch records",
    "guest": "guest state",
    "guests": "guest list",
    "tasks": "Proxmox tasks",
    "claims": "GPU assignments",
    "host-holders": "GPU file holders",
    "supervisors": "supervisors",
    "device-services": "services on the GPUs",
    "pending": "pending changes",
    "arc": "ZFS's cache",
    "guest-agent": "guest agent",
    "ssh-answer": "its SSH port",
}


def hypervisor_rows(report: Report) -> Iterator[Row]:
    """The guest's lock, its running tasks and the GPU holders, as its hypervisor sees them."""
    observation = report.observation
    if observation is None or observation.hypervisor is None or observation.hypervisor_facts is None:
        return
    facts = observation.hypervisor_facts
    if facts.value(GUEST) is None and not facts.value(TASKS):
        return
    notes = [*_task_owners(facts), *_holders(observation, facts)]
    yield Row(
        label=observation.hypervisor.name,
        says=", ".join(_holds(observation, facts)) or "no lock, no running task",
        note=", ".join(notes),
    )


def _holds(observation: Observation, facts: Facts) -> Iterator[str]:
    """What keeps others from acting on the guest."""
    guest = facts.value(GUEST)
    if guest is not None and guest.lock:
        yield f"guest locked: {guest.lock}"
    yield from (f"{task.type} running" for task in facts.value(TASKS) or ())
    for entry in facts.value(GUESTS) or ():
        if observation.node.guest and entry.id == observation.node.guest.id and entry.ha_state:
            yield f"HA: {entry.ha_state}"


def _task_owners(facts: Facts) -> Iterator[str]:
    yield from (f"{task.type} by {task.user}" for task in facts.value(TASKS) or () if task.user)


def _holders(observation: Observation, facts: Facts) -> Iterator[str]:
    holders, guest = facts.value(HOST_HOLDERS), observation.node.guest
    if not holders or guest is None:
        return
    own = {holder.pid for holder in holders if holder.guest_id == guest.id}
    host = sorted({holder.comm for holder in holders if holder.guest_id is None})
    if own:
        yield f"sees {len(own)} process{'' if len(own) == 1 else 'es'} of this guest on its GPUs"
    if host:
        yield f"{', '.join(host)} of its own on the GPUs"


def missing_rows(report: Report) -> Iterator[Row]:
    """Every reading that is not there though it should be, equal reasons once."""
    observation = report.observation
    if observation is None:
        return
    label = "unknown"
    for facts in (observation.node_facts, observation.hypervisor_facts):
        if facts is None:
            continue
        for reason, names in _gaps(facts).items():
            where = "" if facts is observation.node_facts else f" (on {facts.host})"
            everything = len(names) == len(facts.readings) > 1
            says = f"everything on {facts.host}" if everything else ", ".join(names) + where
            yield Row(label=label, says=says, note=reason)
            label = ""


def _gaps(facts: Facts) -> dict[str, list[str]]:
    gaps: dict[str, list[str]] = {}
    for name, reading in facts.readings.items():
        if isinstance(reading, Missing) and not (reading.gap is Gap.ABSENT and name in _MAY_BE_ABSENT):
            gaps.setdefault(str(reading), []).append(_IN_WORDS.get(name, name))
    return gaps
