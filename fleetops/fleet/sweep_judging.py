"""From what was read to what is wrong: observations put together, judged, and what of them the next sweep shall know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleetops.checks import judge, judge_hypervisor, remember, remember_hypervisor
from fleetops.checks.support.own import judge_own, remember_own
from fleetops.checks.support.remembering import together
from fleetops.fleet.observe import observation_of
from fleetops.fleet.probe import Memory, remember_identity
from fleetops.fleet.sweep_facts import own_checks
from fleetops.inventory.patterns import members
from fleetops.inventory.thresholds import thresholds_for
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Finding, Observation
from fleetops.model.fleet import Host, Hypervisor, Inventory, Node
from fleetops.model.gpu import GPUS
from fleetops.model.past import Past, Remembered
from fleetops.model.sight import HypervisorSight
from fleetops.model.sweep import HostSweep
from fleetops.model.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class Read:
    """What one host has told: its own facts, and those about each guest on it."""

    own: Facts
    guests: Mapping[str, Facts] = field(default_factory=dict)
    seconds: float = 0.0


def guests_of(inventory: Inventory, hypervisor: Host) -> list[Node]:
    """The inventory's nodes that are guests of this host."""
    return [node for node in inventory.nodes.values() if node.hypervisor == hypervisor.name]


def judged_hypervisor(host: Hypervisor, inventory: Inventory, found: Read, past: Past) -> HostSweep:
    """By the checks of Proxmox hosts, and the operator's own."""
    sight = HypervisorSight(
        hypervisor=host,
        facts=found.own,
        guests=found.guests,
        nodes={node.name: node for node in guests_of(inventory, host)},
        past=past,
        thresholds=_thresholds(inventory, host.name, found.own),
    )
    return HostSweep(
        name=host.name,
        kind="hypervisor",
        at=found.own.at,
        seconds=found.seconds,
        findings=(*judge_hypervisor(sight), *_own_findings(inventory, host, found.own)),
        remembered=_together(remember_hypervisor(sight), inventory, host, found.own),
        gaps=_gaps(found.own),
    )


def seen_node(
    node: Node, inventory: Inventory, read: Mapping[str, Read], past: Past, records: Memory
) -> Observation:
    """All that is known of a node, put together."""
    own, beside = read[node.name], read.get(node.hypervisor)
    observation = observation_of(
        inventory,
        replace(node, machine_id=node.machine_id or records.machine_id(node.name)),
        own.own,
        _of_guest(beside, node) if beside else None,
        baseline=records.baseline(node.name),
        peers=records.baselines(),
    )
    remember_identity(records, observation)
    return replace(
        observation,
        sweeping=True,
        past=past,
        thresholds=_thresholds(inventory, node.name, own.own),
        last_launch=records.last_launch(node.name),
    )


def judged_node(
    observation: Observation, own: Read, inventory: Inventory, beside: Iterable[Finding]
) -> HostSweep:
    """By the checks of nodes, what shows `beside` the others, and the operator's own."""
    node = observation.node
    return HostSweep(
        name=node.name,
        kind="node",
        at=own.own.at,
        seconds=own.seconds,
        findings=(
            *judge(observation),
            *(finding for finding in beside if finding.host == node.name),
            *_own_findings(inventory, node, own.own),
        ),
        remembered=_together(remember(observation), inventory, node, own.own),
        gaps=_gaps(observation.node_facts),
    )


def _own_findings(inventory: Inventory, host: Host, facts: Facts) -> list[Finding]:
    """Of a host that is silent that is said once, and not of each of them."""
    checks = [] if facts.silence else own_checks(inventory, host)
    return [finding for check in checks for finding in judge_own(check, facts)]


def _together(shipped: Remembered, inventory: Inventory, host: Host, facts: Facts) -> Remembered:
    return together((shipped, *(remember_own(check, facts) for check in own_checks(inventory, host))))


def _of_guest(beside: Read, node: Node) -> Facts:
    """What the hypervisor says of this node: its own facts and those about the guest; silent as a whole where it is."""
    about = beside.guests.get(node.name)
    readings = {**beside.own.readings, **(about.readings if about else {})}
    return replace(beside.own, readings=readings)


def _thresholds(inventory: Inventory, name: str, facts: Facts) -> Thresholds:
    gpus = facts.value(GPUS)
    rules = inventory.thresholds
    groups = [group for group in rules.groups if name in members(inventory, group)]
    return thresholds_for(gpus.model if gpus else "", rules, groups)


def _gaps(facts: Facts) -> dict[str, str]:
    return {name: str(one) for name, one in facts.readings.items() if isinstance(one, Missing)}
