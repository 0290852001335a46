"""Is the machine that a change would reach the one that is meant? From the node's own word, and its hypervisor's."""

from fleetops.checks.support.another import another, machine_id_of_guest
from fleetops.model.finding import Observation
from fleetops.model.guest import AGENT, GUEST
from fleetops.model.machine import IDENTITY
from fleetops.platforms.support.known import known, on_hypervisor


def identity(observation: Observation) -> str:
    """Machine-id, guest id and name agree. A guest that runs and is silent is judged by what its hypervisor sees of it."""
    node = observation.node
    if observation.is_mute:
        return _silent(observation)
    told = known(observation.node_facts, IDENTITY, "its identity", "identity")
    if why := another(observation):
        return why
    return _same_guest(observation, told.hostname) if node.guest else ""


def guest_identity(observation: Observation) -> str:
    """The guest that would be stopped is shown to be the node, not only called like it: by its own agent."""
    node = observation.node
    seen = known(
        on_hypervisor(observation), AGENT, f"the machine-id of {_guest(observation)}", "guest-identity"
    )
    told = observation.node_facts.value(IDENTITY)
    expected = told.machine_id if told else node.machine_id
    if not expected or seen != expected:
        return (
            f"{_guest(observation)} is not shown to be {node.name}: its agent tells machine-id {seen},"
            f" the node's is {expected or 'not recorded'}"
        )
    return ""


def _same_guest(observation: Observation, hostname: str) -> str:
    guest = known(on_hypervisor(observation), GUEST, "the guest", "identity")
    where = _guest(observation)
    if not machine_id_of_guest(observation) and guest.kind == "lxc":
        return f"the machine-id of {where} could not be read"
    if guest.name and guest.name.partition(".")[0] != hostname.partition(".")[0]:
        return f"{where} is called {guest.name}, the node calls itself {hostname}"
    return ""


def _silent(observation: Observation) -> str:
    """Of a node that does not answer: the machine-id in the container's root, or by the VM's agent, is the recorded one."""
    node, facts = observation.node, on_hypervisor(observation)
    where = _guest(observation)
    if not node.machine_id:
        return f"{node.name} does not answer, and no machine-id was ever recorded to know {where} by"
    if node.guest and node.guest.kind == "vm":
        of_guest = known(facts, AGENT, f"the machine-id of {where}", "identity")
    else:
        of_guest = known(facts, GUEST, "the guest", "identity").machine_id
    if not of_guest:
        return f"{node.name} does not answer, and the machine-id of {where} could not be read"
    if of_guest != node.machine_id:
        return f"{where} is not {node.name}: its machine-id is {of_guest}, recorded is {node.machine_id}"
    return ""


def _guest(observation: Observation) -> str:
    guest = observation.node.guest
    return f"guest {guest.id if guest else ''} on {observation.node.hypervisor}"
