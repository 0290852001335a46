"""Nodes that own their GPU driver themselves, a VM's guest and bare metal: the reset is issued on the node."""

from fleetops.engines.attribution import attribute
from fleetops.model.device_service import system_unit
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.machine import HOLDERS, PROCESSES
from fleetops.model.plan import Action
from fleetops.platforms.support.known import all_there, known, whole_report
from fleetops.platforms.support.reset_call import reset_action
from fleetops.platforms.support.services import DeviceUser, is_borne, told, units_to_stop


def reset_host(observation: Observation) -> str:
    """The node."""
    return observation.node.name


def own_gpus(observation: Observation) -> tuple[Gpu, ...]:
    """All GPUs that the node's driver reports."""
    return all_there(observation, whole_report(observation.node_facts).gpus, observation.node.name)


def reset(observation: Observation, gpus: tuple[Gpu, ...]) -> Action:
    """On the node, its own services stopped meanwhile."""
    return reset_action(
        reset_host(observation), gpus, units_to_stop(observation.node_facts, _daemons(observation))
    )


def daemons_in_the_way(observation: Observation) -> str:
    """A process that holds the GPUs for the driver's sake and that no unit would bring back; "" where there is none."""
    facts = observation.node_facts
    user = next((one for one in _daemons(observation) if not is_borne(one, facts)), None)
    return told(user, facts.host, facts.host) if user else ""


def _daemons(observation: Observation) -> tuple[DeviceUser, ...]:
    """Of the holders, those that serve the driver: everybody else's are the step's own to judge."""
    table = {one.pid: one for one in known(observation.node_facts, PROCESSES, "the process table", "holders")}
    holders = known(observation.node_facts, HOLDERS, "who holds the GPUs", "holders")
    serving = {one.pid for one in attribute(observation).daemons}
    users = {one.pid: one.path for one in holders if one.pid in serving}
    return tuple(
        DeviceUser(pid, table[pid].comm, path, system_unit(table[pid].cgroup)) for pid, path in users.items()
    )
