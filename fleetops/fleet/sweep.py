"""All checks over all hosts, once: each host is read in one round trip, and judged when all that is known of it is there."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from fleetops.checks import judge_fleet
from fleetops.fleet import own_fact
from fleetops.fleet.fitting import fit
from fleetops.fleet.observe import find_services
from fleetops.fleet.probe import Memory
from fleetops.fleet.read import Sessions, read_groups
from fleetops.fleet.service_answers import answers
from fleetops.fleet.sweep_facts import of_guests, of_hypervisor, of_node
from fleetops.fleet.sweep_judging import Read, Shared, guests_of, judged_hypervisor, judged_node, seen_node
from fleetops.model.errors import Silence, Unreachable
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Host, Hypervisor, Inventory, Node
from fleetops.model.machine import ANSWERED, Answered
from fleetops.model.past import Past
from fleetops.model.size import FIT, Fit
from fleetops.model.sweep import HostSweep
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

    hands, shared = busy or Busy(), Shared.of(inventory, records)

    def work(host: Node | Hypervisor) -> Read:
        with hands.on(host):
            return _read(sessions, shared, host, clock)

    for result in fan_out(list(asked.values()), work, deadline_s=deadline_s):
        read[result.item.name] = result.value or _silent(result, began, deadline_s)
        on_answer(set(asked) - set(read))
    seen = {
        host.name: seen_node(host, shared, read, pasts.get(host.name, Past()), records)
        for host in hosts
        if isinstance(host, Node)
    }
    left_s = max(0.0, deadline_s - (clock() - began))
    seen = _with_fits(seen, lambda one: fit(sessions, inventory, one, records=records, proofs=proofs), left_s)
    beside = (*judge_fleet(seen.values()), *shared.brought.judge_fleet(seen.values()))
    return tuple(
        judged_node(seen[host.name], read[host.name], shared, beside)
        if isinstance(host, Node)
        else judged_hypervisor(host, shared, read[host.name], pasts.get(host.name, Past()))
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


def _read(sessions: Sessions, shared: Shared, host: Host, clock: Callable[[], float]) -> Read:
    began, inventory = time.monotonic(), shared.inventory
    own_facts = [own_fact.fact(check) for check in shared.checks_of(host)]
    if isinstance(host, Node):
        shipped = of_node(host)
        reads = [*own_facts, *shipped, *shared.brought.reads(shipped, hypervisor=False)]
        own = read_groups(sessions, host, {_OWN: reads}, clock)[_OWN]
        seconds = time.monotonic() - began
        own = _with(own, {**answers(sessions, _as_seen(inventory, host, own)), **_answered(own, seconds)})
        return Read(own=own, seconds=seconds)
    nodes = guests_of(inventory, host)
    shipped = of_hypervisor(nodes)
    reads = [*own_facts, *shipped, *shared.brought.reads(shipped, hypervisor=True)]
    found = read_groups(sessions, host, {_OWN: reads, **of_guests(nodes)}, clock)
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
