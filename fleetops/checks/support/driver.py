"""What is certain of a GPU driver that tells of no GPU, on the node and on the hypervisor whose driver a container uses."""

from collections.abc import Iterator

from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS


def gaps(observation: Observation, reason: str) -> Iterator[tuple[str, Missing]]:
    """Each machine where the GPUs are missing for this reason, and the gap. A VM's hypervisor is not asked for GPUs."""
    for facts in (observation.node_facts, observation.hypervisor_facts):
        if facts is None:
            continue
        gap = facts.get(GPUS)
        if isinstance(gap, Missing) and gap.reason == reason:
            yield facts.host, gap
