"""Everything about one node at one moment: its own facts, its hypervisor's, and the services found in them."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from fleetops.engines import engines
from fleetops.facts import (
    arc,
    attempts,
    cgroup,
    claims,
    device_services,
    engine_source,
    gpus,
    guest,
    guest_agent,
    guests,
    holders,
    host_holders,
    identity,
    listeners,
    memory,
    pending,
    processes,
    segments,
    service_records,
    ssh_answer,
    supervisors,
    tasks,
)
from fleetops.fleet.baseline import idle_state
from fleetops.fleet.read import Sessions, read_facts
from fleetops.model.engine import SERVICE_RECORDS, Service
from fleetops.model.errors import Silence
from fleetops.model.fact import Fact, Facts
from fleetops.model.finding import Baseline, Observation
from fleetops.model.fleet import Inventory, Node, Profile
from fleetops.model.guest import GUEST
from fleetops.model.machine import LISTENERS, PROCESSES

SSH_PORT = 22
# Silence that may be the node's own; any other is of the way to it, of a key or of a login.
_OF_THE_NODE = (Silence.NO_BANNER, Silence.TIMEOUT)


def node_facts(node: Node, *, pss: bool = False) -> list[Fact[Any]]:
    """What is read on a node. The kernel's own files come first; what may hang comes last."""
    return [
        identity.FACT,
        memory.FACT,
        cgroup.FACT,
        processes.FACT_WITH_PSS if pss else processes.FACT,
        listeners.FACT,
        holders.FACT,
        segments.FACT,
        service_records.FACT,
        supervisors.FACT,
        engine_source.fact(node.engine, node.source),
        *([] if node.guest and node.guest.kind == "lxc" else [device_services.FACT]),
        *([] if node.hypervisor else [attempts.fact(node.name)]),
        gpus.FACT,
    ]


def hypervisor_facts(node: Node) -> list[Fact[Any]]:
    """What is read on the Proxmox host of `node`; the GPU driver is its own only for containers."""
    if node.guest is None:
        return [identity.FACT, memory.FACT, attempts.fact(node.name)]
    facts: list[Fact[Any]] = [
        identity.FACT,
        memory.FACT,
        guest.fact(node.guest.kind, node.guest.id),
        guests.FACT,
        tasks.fact(node.guest.id),
        claims.FACT,
        pending.fact(node.guest.kind, node.guest.id),
        arc.FACT,
        attempts.fact(node.name),
    ]
    if node.guest.kind == "lxc":
        facts += [host_holders.FACT, device_services.FACT, gpus.FACT]
    else:
        facts.append(guest_agent.fact(node.guest.id))
    return facts


def observe(
    sessions: Sessions,
    inventory: Inventory,
    node: Node,
    *,
    profile: Profile | None = None,
    baseline: Baseline | None = None,
    peers: Mapping[str, Baseline] | None = None,
    pss: bool = False,
    clock: Callable[[], float] = time.time,
) -> Observation:
    """Read the node and its hypervisor at the same time, one round trip each.

    `profile` defaults to the node's own; without a `baseline` that was recorded on this machine, as it is now, one is
    estimated from `peers`, the idle states of other nodes, and the facts.
    Nothing here raises for a host that does not answer: its facts are `Missing(UNREACHABLE)`.
    """
    hypervisor = inventory.hypervisors.get(node.hypervisor)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="hypervisor") as beside:
        pending = (
            beside.submit(read_facts, sessions, hypervisor, hypervisor_facts(node), clock)
            if hypervisor
            else None
        )
        on_node = read_facts(sessions, node, node_facts(node, pss=pss), clock)
        on_hypervisor = pending.result() if pending else None
    if hypervisor and on_hypervisor and _may_be_its_own(on_node, on_hypervisor):
        tried = [ssh_answer.fact(node.address, node.port or SSH_PORT)]
        witness = read_facts(sessions, hypervisor, tried, clock).readings
        on_hypervisor = replace(on_hypervisor, readings={**on_hypervisor.readings, **witness})
    return observation_of(
        inventory, node, on_node, on_hypervisor, profile=profile, baseline=baseline, peers=peers
    )


def observation_of(
    inventory: Inventory,
    node: Node,
    on_node: Facts,
    on_hypervisor: Facts | None,
    *,
    profile: Profile | None = None,
    baseline: Baseline | None = None,
    peers: Mapping[str, Baseline] | None = None,
) -> Observation:
    """What was read, put together as `observe` says."""
    seen = Observation(
        node=node,
        node_facts=on_node,
        hypervisor=inventory.hypervisors.get(node.hypervisor),
        hypervisor_facts=on_hypervisor,
        profile=profile or inventory.profiles.get(node.profile),
        services=find_services(on_node),
    )
    return replace(seen, baseline=idle_state(seen, baseline, peers or {}))


def _may_be_its_own(on_node: Facts, on_hypervisor: Facts) -> bool:
    """A running guest's silence of a kind that its hypervisor can tell more of, by trying its SSH port as well."""
    state, gap = on_hypervisor.value(GUEST), on_node.silence
    return gap is not None and gap.reason in _OF_THE_NODE and state is not None and state.status == "running"


def find_services(facts: Facts) -> tuple[Service, ...]:
    """Every engine instance that any engine file recognises in these facts."""
    table = facts.value(PROCESSES) or ()
    listening = facts.value(LISTENERS) or ()
    records = facts.value(SERVICE_RECORDS) or ()
    return tuple(
        service for engine in engines() for service in engine.find_services(table, listening, records)
    )
