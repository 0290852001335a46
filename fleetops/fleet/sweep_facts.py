"""What a sweep reads: of a node, of a Proxmox host, and of each guest on it; one batch of commands a host."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetops.facts import (
    arc,
    claims,
    clock,
    device_services,
    disks,
    failed_units,
    gpu_pci,
    gpus,
    guest,
    guest_agent,
    guests,
    host_holders,
    identity,
    kernel_log,
    memory,
    nvlink,
    pending,
    tasks,
)
from fleetops.fleet.observe import node_facts
from fleetops.model.fact import Fact
from fleetops.model.fleet import Guest, Node

Reads = list[Fact[Any]]
_OF_A_MACHINE: Reads = [clock.FACT, disks.FACT, failed_units.FACT]
_OF_A_KERNEL: Reads = [kernel_log.FACT, gpu_pci.FACT]
_OF_A_DRIVER: Reads = [host_holders.FACT, device_services.FACT, gpus.FACT]


def of_node(node: Node) -> Reads:
    """On the node itself. A container's kernel log and PCI bus are its host's."""
    is_container = node.guest is not None and node.guest.kind == "lxc"
    kernels = [] if is_container and node.hypervisor else _OF_A_KERNEL
    # nvidia-smi comes last: it is what may hang.
    return [*_OF_A_MACHINE, *kernels, *node_facts(node), nvlink.FACT]


def of_hypervisor(nodes: Iterable[Node]) -> Reads:
    """On a Proxmox host; the GPU driver is its own only where containers use it."""
    lxc = any(node.guest and node.guest.kind == "lxc" for node in nodes)
    return [
        identity.FACT,
        memory.FACT,
        guests.FACT,
        claims.FACT,
        arc.FACT,
        *_OF_A_MACHINE,
        *_OF_A_KERNEL,
        *(_OF_A_DRIVER if lxc else []),
    ]


def of_guests(nodes: Iterable[Node]) -> Mapping[str, Reads]:
    """On a Proxmox host, of each node that is its guest."""
    found: dict[str, Reads] = {}
    for node in nodes:
        if node.guest:
            found[node.name] = [
                guest.fact(node.guest.kind, node.guest.id),
                tasks.fact(node.guest.id),
                pending.fact(node.guest.kind, node.guest.id),
                *_agent(node.guest),
            ]
    return found


def _agent(of: Guest) -> Reads:
    return [guest_agent.fact(of.id)] if of.kind == "vm" else []
