"""Whether another machine answers as the node: told by machine-ids alone, of names and addresses there may be two."""

from fleetops.model.finding import Observation
from fleetops.model.guest import AGENT, GUEST
from fleetops.model.machine import IDENTITY


def another(observation: Observation) -> str:
    """What shows it; "" where nothing does. A machine-id that could not be read shows nothing."""
    node, told = observation.node, observation.node_facts.value(IDENTITY)
    if told is None:
        return ""
    if node.machine_id and told.machine_id != node.machine_id:
        return (
            f"another machine answers as {node.name}: its machine-id is {told.machine_id or 'empty'},"
            f" recorded is {node.machine_id}"
        )
    of_guest = machine_id_of_guest(observation)
    if node.guest and of_guest and of_guest != told.machine_id:
        return (
            f"guest {node.guest.id} on {node.hypervisor} is not the machine that answers as {node.name}:"
            f" its machine-id is {of_guest}, the node's {told.machine_id or 'empty'}"
        )
    return ""


def machine_id_of_guest(observation: Observation) -> str:
    """As its hypervisor reads it in a container's root, or a VM's agent tells it; "" where neither does."""
    facts = observation.hypervisor_facts
    if facts is None:
        return ""
    guest = facts.value(GUEST)
    return (guest.machine_id if guest else "") or facts.value(AGENT) or ""
