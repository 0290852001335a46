"""Facts that a change rests on: there, or refused."""

from typing import TypeVar

from fleetops.model.errors import Refused
from fleetops.model.fact import Facts, Key, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import DRIVER_UNRESPONSIVE, GPUS, Gpu, Gpus

T = TypeVar("T")


def known(facts: Facts, key: Key[T], what: str, guard: str) -> T:
    """The reading. Raises Refused (guard `guard`) where it is missing: what is not known proves nothing."""
    seen = facts.get(key)
    if isinstance(seen, Missing):
        raise Refused(
            f"{what} could not be read on {facts.host} ({seen})",
            guard=guard,
            host=facts.host,
        )
    return seen


def on_hypervisor(observation: Observation) -> Facts:
    """What was read on the node's hypervisor. Raises Refused where the inventory names none."""
    if observation.hypervisor_facts is None:
        name = observation.node.name
        raise Refused(
            f"what the hypervisor of {name} would tell cannot be known: the inventory names none",
            guard="identity",
            host=name,
        )
    return observation.hypervisor_facts


def on_node(observation: Observation) -> Facts:
    """What was read on the node itself."""
    return observation.node_facts


def whole_report(facts: Facts) -> Gpus:
    """The driver's report. Raises Refused where it does not tell of every GPU: a short list is no list."""
    gap = facts.get(GPUS)
    if isinstance(gap, Missing) and gap.reason == DRIVER_UNRESPONSIVE:
        raise Refused(
            f"the GPU driver of {facts.host} hangs, and no reset gets through to it ({gap.why})",
            guard="driver",
            host=facts.host,
            hint=f"a person reboots {facts.host}: nothing less ends a process that hangs in its driver",
        )
    seen = known(facts, GPUS, "the GPUs", "gpus")
    if seen.problems:
        raise Refused(
            f"nvidia-smi on {facts.host} does not tell of every GPU: {'; '.join(seen.problems[:3])}",
            guard="gpus",
            host=facts.host,
            hint=f"a person decides: fleetops run {facts.host} -- nvidia-smi -L",
        )
    return seen


def all_there(observation: Observation, gpus: tuple[Gpu, ...], host: str) -> tuple[Gpu, ...]:
    """The node's own GPUs. Raises Refused where the inventory states more than there are."""
    node = observation.node
    if node.gpus is not None and len(gpus) < node.gpus:
        raise Refused(
            f"{host} reports {len(gpus)} of the {node.gpus} GPUs of {node.name}",
            guard="gpus",
            host=host,
            hint=f"a person decides: fleetops run {host} -- nvidia-smi -L",
        )
    return gpus
