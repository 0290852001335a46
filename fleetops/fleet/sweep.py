"""All checks over all hosts, once: each host is read in one round trip, and judged when all that is known of it is there."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from fleetops.checks import judge, judge_fleet, judge_hypervisor, remember, remember_hypervisor
from fleetops.fleet.fitting import fit
from fleetops.fleet.observe import find_services, observation_of
from fleetops.fleet.probe import Memory, remember_identity
from fleetops.fleet.read import Sessions, read_groups
from fleetops.fleet.service_answers import answers
from fleetops.fleet.sweep_facts import of_guests, of_hypervisor, of_node
from fleetops.inventory.patterns import members
from fleetops.inventory.thresholds import thresholds_for
from fleetops.model.errors import Silence, Unreachable
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Finding, Observation
from fleetops.model.fleet import Host, Hypervisor, Inventory, Node
from fleetops.model.gpu import GPUS
from fleetops.model.machine import ANSWERED, Answered
from fleetops.model.past import Past
from fleetops.model.sight import HypervisorSight
from fleetops.model.size import FIT, Fit
from fleetops.model.sweep import HostSweep
from fleetops.model.thresholds import Thresholds
from fleetops.ssh.fanout import Result, fan_out
from fleetops.store.proofs import Proofs

DEADLINE_S = 60.0
# The group of facts that are the host's own; a guest's are under its node's name.
_OWN = ""


class Busy:
    """Hosts that are being looked at: one that an earlier sweep still waits for is not asked a second time beside that."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def on(self, host: Host) -> Iterator[None]:
        """Raises Unreachable where somebody is at it."""
        with self._lock:
            if host.name in self._names:
                raise Unreachable(
                    f"{host.name} has not answered the last sweep yet", host=host.name, reason=Silence.TIMEOUT
                )
            self._names.add(host.name)
        try:
            yield
        finally:
            with self._lock:
                self._names.discard(host.name)


@dataclass(frozen=True, kw_only=True)
class Read:
    """What one host has told: its own facts, and those about each guest on it."""

    own: Facts
    guests: Mapping[str, Facts] = field(default_factory=dict)
    seconds: float = 0.0


def sweep_hosts(
    sessions: Sessions,
    inventory: Inventory,
    hosts: Sequence[Node | Hypervisor],
    *,
    pasts: Mapping[str, Past],
    records: Memory,
    proofs: Proofs,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.time,
    on_answer: Callable[[set[str]], None] = lambda _: None,
    busy: "Busy | None" = None,
) -> tuple[HostSweep, ...]:
    """One result for each host, in their order. A host that does not answer costs only itself, and never more than the deadline.

    A node's hypervisor is read as well, asked for or not: what it says of its guest is part of what is known of the node.
    `on_answer` hears which hosts are still awaited.
    """
    asked = {host.name: host for host in (*hosts, *_hypervisors(inventory, hosts))}
    began = clock()
    read: dict[str, Read] = {}

    hands = busy or Busy()

    def work(host: Node | Hypervisor) -> Read:
        with hands.on(host):
            return _read(sessions, inventory, host, clock)

    for result in fan_out(list(asked.values()), work, deadline_s=deadline_s):
        read[result.item.name] = result.value or _silent(result, began, deadline_s)
        on_answer(set(asked) - set(read))
    seen = {
        host.name: _seen(host, inventory, read, pasts.get(host.name, Past()), records)
        for host in hosts
        if isinstance(host, Node)
    }
    left_s = max(0.0, deadline_s - (clock() - began))
    seen = _with_fits(seen, lambda one: fit(sessions, inventory, one, records=records, proofs=proofs), left_s)
    beside = judge_fleet(seen.values())
    return tuple(
        _judged_node(seen[host.name], read[host.name], beside)
        if isinstance(host, Node)
        else _judged_hypervisor(host, inventory, read[host.name], pasts.get(host.name, Past()))
        for host in hosts
    )


def _with_fits(
    seen: Mapping[str, Observation], work: Callable[[Observation], Fit | Missing | None], left_s: float
) -> dict[str, Observation]:
    """Each with whether its profile fits it: mostly remembered, else proven from the source on the node."""
    found = dict(seen)
    for result in fan_out(list(seen.values()), work, deadline_s=left_s):
        why = result.error.message if result.error else ""
        told = Missing(Gap.TIMED_OUT, why) if why else result.value
        if told is not None:
            facts = _with(result.item.node_facts, {FIT.name: told})
            found[result.item.node.name] = replace(result.item, node_facts=facts)
    return found


def _hypervisors(inventory: Inventory, hosts: Sequence[Host]) -> Iterator[Hypervisor]:
    for host in hosts:
        if isinstance(host, Node) and host.hypervisor in inventory.hypervisors:
            yield inventory.hypervisors[host.hypervisor]


def _guests_of(inventory: Inventory, hypervisor: Host) -> list[Node]:
    return [node for node in inventory.nodes.values() if node.hypervisor == hypervisor.name]


def _read(sessions: Sessions, inventory: Inventory, host: Host, clock: Callable[[], float]) -> Read:
    began = time.monotonic()
    if isinstance(host, Node):
        own = read_groups(sessions, host, {_OWN: of_node(host)}, clock)[_OWN]
        seconds = time.monotonic() - began
        own = _with(own, {**answers(sessions, _as_seen(inventory, host, own)), **_answered(own, seconds)})
        return Read(own=own, seconds=seconds)
    nodes = _guests_of(inventory, host)
    found = read_groups(sessions, host, {_OWN: of_hypervisor(nodes), **of_guests(nodes)}, clock)
    seconds = time.monotonic() - began
    own = found.pop(_OWN)
    return Read(own=_with(own, _answered(own, seconds)), guests=found, seconds=seconds)


def _with(facts: Facts, more: Mapping[str, object]) -> Facts:
    return replace(facts, readings={**facts.readings, **more})


def _answered(facts: Facts, seconds: float) -> dict[str, Answered]:
    """How long it took; of a host that is silent nothing is told by that."""
    return {} if facts.silence else {ANSWERED.name: Answered(seconds=seconds)}


def _as_seen(inventory: Inventory, node: Node, own: Facts) -> Observation:
    """As much of an observation as tells whom to ask."""
    profile = inventory.profiles.get(node.profile)
    return Observation(node=node, node_facts=own, profile=profile, services=find_services(own))


def _silent(result: Result[Node | Hypervisor, Read], at: float, deadline_s: float) -> Read:
    """A host that did not come back: what hangs is named by the wait, the reason by the error."""
    error = result.error
    why = error.message if error else f"no answer in {deadline_s:g} s"
    gap = Missing(Gap.UNREACHABLE, why, error.hint if error else "", getattr(error, "reason", None) or "")
    facts = Facts(result.item.name, at, {"identity": gap})
    return Read(own=facts, seconds=result.duration_s)


def _judged_hypervisor(host: Hypervisor, inventory: Inventory, found: Read, past: Past) -> HostSweep:
    sight = HypervisorSight(
        hypervisor=host,
        facts=found.own,
        guests=found.guests,
        nodes={node.name: node for node in _guests_of(inventory, host)},
        past=past,
        thresholds=_thresholds(inventory, host.name, found.own),
    )
    return HostSweep(
        name=host.name,
        kind="hypervisor",
        at=found.own.at,
        seconds=found.seconds,
        findings=judge_hypervisor(sight),
        remembered=remember_hypervisor(sight),
        gaps=_gaps(found.own),
    )


def _seen(
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


def _judged_node(observation: Observation, own: Read, beside: Iterable[Finding]) -> HostSweep:
    name = observation.node.name
    return HostSweep(
        name=name,
        kind="node",
        at=own.own.at,
        seconds=own.seconds,
        findings=(*judge(observation), *(finding for finding in beside if finding.host == name)),
        remembered=remember(observation),
        gaps=_gaps(observation.node_facts),
    )


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
