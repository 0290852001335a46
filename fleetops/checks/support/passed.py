"""Which of a Proxmox host's GPUs it passes to a node that is a VM."""

import re

from fleetops.facts.pci import device
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPU_PCI, PciGpu
from fleetops.model.guest import CLAIMS, GUEST, same_device


def passed_gpus(observation: Observation) -> tuple[PciGpu, ...] | None:
    """Those on the host's bus that the VM's configuration names; None where that is not known (a mapping, no facts)."""
    facts = observation.hypervisor_facts
    on_bus = facts.value(GPU_PCI) if facts else None
    addresses = _addresses(observation)
    if on_bus is None or addresses is None:
        return None
    return tuple(gpu for gpu in on_bus if any(same_device(gpu.bdf, one) for one in addresses))


def _addresses(observation: Observation) -> tuple[str, ...] | None:
    facts, guest = observation.hypervisor_facts, observation.node.guest
    state = facts.value(GUEST) if facts else None
    if facts is None or guest is None or state is None:
        return None
    for claim in facts.value(CLAIMS) or ():
        if claim.guest_id == guest.id:
            return None if claim.unresolved else claim.addresses
    named = [device(value, {}) for key, value in state.config.items() if re.fullmatch(r"hostpci\d+", key)]
    if any(one.unresolved for one in named):
        return None
    return tuple(address for one in named for address in one.addresses)
