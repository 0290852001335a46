"""Whose kernel a node has: a container shares its hypervisor's, and only that one has its log whole."""

from fleetops.model.fact import Facts
from fleetops.model.finding import Observation


def kernel_facts(observation: Observation) -> Facts:
    """The facts of the host whose kernel runs the node; a container without a known hypervisor has but its own view."""
    guest = observation.node.guest
    if guest and guest.kind == "lxc" and observation.hypervisor_facts is not None:
        return observation.hypervisor_facts
    return observation.node_facts
