"""What to do where a guard refuses: the command to type next, and what only a person decides. Pure."""

from collections.abc import Callable, Mapping

from fleetops.checks.support.another import another
from fleetops.facts.guest import TOOLS
from fleetops.model.finding import Observation
from fleetops.model.guest import GUESTS, TASKS

_HA_KINDS = {"lxc": "ct", "vm": "vm"}
_AGAIN = "then the same command again"


def mend(name: str, observation: Observation, why: str) -> str:
    """What to do about the refusal `why` of the guard `name`; where nothing better is known, to look."""
    known = _MENDS.get(name)
    return (known(observation, why) if known else "") or f"fleetops probe {observation.node.name}"


def _who_answers(observation: Observation, _why: str) -> str:
    if not another(observation):
        return ""
    name = observation.node.name
    return f"see who answers: fleetops run {name} -- hostname; then mend its address or its machine-id in the inventory"


def _out_of_ha(observation: Observation, _why: str) -> str:
    """`ignored`: HA leaves it alone and keeps its entry."""
    node, facts = observation.node, observation.hypervisor_facts
    entries = (facts.value(GUESTS) if facts else None) or ()
    if node.guest is None or node.guest.id not in {entry.id for entry in entries}:
        return ""
    sid = f"{_HA_KINDS[node.guest.kind]}:{node.guest.id}"
    return f"a person takes it out of HA: fleetops run {node.hypervisor} -- ha-manager set {sid} --state ignored; {_AGAIN}"


def _wait_for_task(observation: Observation, _why: str) -> str:
    node, facts = observation.node, observation.hypervisor_facts
    if facts is None or node.guest is None:
        return ""
    tasks = facts.value(TASKS) or ()
    if tasks:
        running = ", ".join(f"{task.type}{f' of {task.user}' if task.user else ''}" for task in tasks)
        look = f"fleetops run {node.hypervisor} -- pvesh get /nodes/localhost/tasks --source active"
        return f"wait for {running} to end ({look}), {_AGAIN}"
    look = f"fleetops run {node.hypervisor} -- {TOOLS[node.guest.kind]} config {node.guest.id}"
    return f"no task that would explain it is known to run; a person looks: {look}"


def _other_guest(observation: Observation, why: str) -> str:
    """The neighbour that the refusal names, by the tool for its kind."""
    facts = observation.hypervisor_facts
    entries = (facts.value(GUESTS) if facts else None) or ()
    named = next((one for one in entries if f"guest {one.id} " in why and one.kind in TOOLS), None)
    if named is None or facts is None:
        return ""
    config = f"fleetops run {facts.host} -- {TOOLS[named.kind]} config {named.id}"
    return f"see what guest {named.id} ({named.name}) has: {config}; a person stops it, or what it runs there, {_AGAIN}"


_MENDS: Mapping[str, Callable[[Observation, str], str]] = {
    "identity": _who_answers,
    "ha": _out_of_ha,
    "proxmox-lock": _wait_for_task,
    "proxmox-task": _wait_for_task,
    "tenants": _other_guest,
}
