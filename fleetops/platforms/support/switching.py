"""A guest's power, by Proxmox's tool for its kind."""

from fleetops.facts.guest import TOOLS
from fleetops.model.command import Command
from fleetops.model.errors import Refused
from fleetops.model.finding import Observation
from fleetops.model.plan import Action


def switch(verb: str, deadline_s: float, observation: Observation) -> Action:
    """`pct VERB ID` or `qm VERB ID` on the hypervisor. Raises Refused for a node that is no guest."""
    node = observation.node
    if node.guest is None:
        raise Refused(f"{node.name} is no guest", guard="platform", host=node.name)
    command = Command(
        argv=(TOOLS[node.guest.kind], verb, str(node.guest.id)),
        deadline_s=deadline_s,
        changes=True,
        root=True,
    )
    return Action(host=node.hypervisor, command=command, why=f"{verb} {node.name}")
