"""From what was read to what is wrong: observations put together, judged, and what of them the next sweep shall know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleetops.checks import judge, judge_hypervisor, remember, remember_hypervisor
from fleetops.checks.support.own import judge_own, remember_own
from fleetops.checks.support.remembering import together
from fleetops.fleet.observe import observation_of
from fleetops.fleet.package_checks import PackageChecks, package_checks
from fleetops.fleet.probe import Memory, remember_identity
from fleetops.inventory.patterns import select_names
from fleetops.inventory.thresholds import thresholds_for
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Baseline, Finding, Observation
from fleetops.model.fleet import Host, Hypervisor, Inventory, Node
from fleetops.model.gpu import GPUS
from fleetops.model.own_check import OwnCheck
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


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What is the same for every host of a sweep, worked out once.

    Attributes:
        own: the operator's own checks, by the name of each host that they are for.
        brought: the checks of installed packages.
        members: of each group that has thresholds of its own, the names of its hosts.
        idle: how each node looked when last seen idle.
    """

    inventory: Inventory
    own: Mapping[str, tuple[OwnCheck, ...]]
    brought: PackageChecks
    members: Mapping[str, set[str]]
    idle: Mapping[str, Baseline]

    @classmethod
    def of(cls, inventory: Inventory, records: Memory) -> "Shared":
        """For the sweeps of this inventory. An own check without patterns is for all nodes."""
        names = (*inventory.nodes, *inventory.hypervisors)
        own: dict[str, tuple[OwnCheck, ...]] = {}
        for check in inventory.checks.values():
            chosen = select_names(check.hosts, names, inventory.groups) if check.hosts else inventory.nodes
            for name in chosen:
                own[name] = (*own.get(name, ()), check)
        members = {
            group: select_names((f"@{group}",), names, inventory.groups)
            for group in inventory.thresholds.groups
        }
        return cls(
            inventory=inventory, own=own, brought=package_checks(), members=members, idle=records.baselines()
        )

    def checks_of(self, host: Host) -> tuple[OwnCheck, ...]:
        """The operator's own checks that are for this host."""
        return self.own.get(host.name, ())

    def thresholds(self, name: str, facts: Facts) -> Thresholds:
        """Those that hold for a host with what it has told of its GPUs."""
        gpus = facts.value(GPUS)
        groups = [group for group, hosts in self.members.items() if name in hosts]
        return thresholds_for(gpus.model if gpus else "", self.inventory.thresholds, groups)


def guests_of(inventory: Inventory, hypervisor: Host) -> list[Node]:
    """The inventory's nodes that are guests of this host."""
    return [node for node in inventory.nodes.values() if node.hypervisor == hypervisor.name]


def judged_hypervisor(host: Hypervisor, shared: Shared, found: Read, past: Past) -> HostSweep:
    """By the checks of Proxmox hosts, and the operator's own."""
    sight = HypervisorSight(
        hypervisor=host,
        facts=found.own,
        guests=found.guests,
        nodes={node.name: node for node in guests_of(shared.inventory, host)},
        past=past,
        thresholds=shared.thresholds(host.name, found.own),
    )
    return HostSweep(
        name=host.name,
        kind="hypervisor",
        at=found.own.at,
        seconds=found.seconds,
        findings=(
            *judge_hypervisor(sight),
            *shared.brought.judge_hypervisor(sight),
            *_own_findings(shared, host, found.own),
        ),
        remembered=_together(remember_hypervisor(sight), shared, host, found.own),
        gaps=_gaps(found.own),
    )


def seen_node(
    node: Node, shared: Shared, read: Mapping[str, Read], past: Past, records: Memory
) -> Observation:
    """All that is known of a node, put together."""
    own, beside = read[node.name], read.get(node.hypervisor)
    observation = observation_of(
        shared.inventory,
        replace(node, machine_id=node.machine_id or records.machine_id(node.name)),
        own.own,
        _of_guest(beside, node) if beside else None,
        baseline=shared.idle.get(node.name),
        peers=shared.idle,
    )
    remember_identity(records, observation)
    return replace(
        observation,
        sweeping=True,
        past=past,
        thresholds=shared.thresholds(node.name, own.own),
        last_launch=records.last_launch(node.name),
    )


def judged_node(observation: Observation, own: Read, shared: Shared, beside: Iterable[Finding]) -> HostSweep:
    """By the checks of nodes, what shows `beside` the others, and the operator's own."""
    node = observation.node
    return HostSweep(
        name=node.name,
        kind="node",
        at=own.own.at,
        seconds=own.seconds,
        findings=(
            *judge(observation),
            *shared.brought.judge(observation),
            *(finding for finding in beside if finding.host == node.name),
            *_own_findings(shared, node, own.own),
        ),
        remembered=_together(remember(observation), shared, node, own.own),
        gaps=_gaps(observation.node_facts),
    )


def _own_findings(shared: Shared, host: Host, facts: Facts) -> list[Finding]:
    """Of a host that is silent that is said once, and not of each of them."""
    checks = () if facts.silence else shared.checks_of(host)
    return [finding for check in checks for finding in judge_own(check, facts)]


def _together(shipped: Remembered, shared: Shared, host: Host, facts: Facts) -> Remembered:
    return together((shipped, *(remember_own(check, facts) for check in shared.checks_of(host))))


def _of_guest(beside: Read, node: Node) -> Facts:
    """What the hypervisor says of this node: its own facts and those about the guest; silent as a whole where it is."""
    about = beside.guests.get(node.name)
    readings = {**beside.own.readings, **(about.readings if about else {})}
    return replace(beside.own, readings=readings)


def _gaps(facts: Facts) -> dict[str, str]:
    return {name: str(one) for name, one in facts.readings.items() if isinstance(one, Missing)}
