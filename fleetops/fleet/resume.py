"""Going on from a run that was interrupted: found by its journal or its lock, waited for, and told from the facts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fleetops.fleet.read import Sessions
from fleetops.model.engine import SERVICE_RECORDS, ServiceRecord
from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Observation
from fleetops.model.fleet import Host, Hypervisor, Inventory, Node
from fleetops.model.guest import GUEST
from fleetops.model.interrupted import Interrupted
from fleetops.model.machine import PROCESSES
from fleetops.playbook.book import Playbook
from fleetops.playbook.journal import note_as_finished
from fleetops.playbook.lock import HYPERVISOR_LOCK, NODE_LOCK, lapsed_holder, release_lock
from fleetops.playbook.resume import interrupted_by, interrupted_in, node_of
from fleetops.steps import all_steps
from fleetops.steps.support.base import Situation
from fleetops.steps.support.detached import RUNNING, Claim, claims, parse_claims
from fleetops.steps.support.launching import Started
from fleetops.steps.support.memory_guard.watching import taken_over
from fleetops.steps.support.power_claims import START, STOP, guest_in

_POLL_S = 2.0
# A VM's start may take twenty minutes; what goes on for longer is left to the lock, which refuses.
_WAITED_S = 1800.0
# How long a guest may take to answer after its start was submitted, and how old such a start may be.
_BACK_S = 600.0
_FRESH_S = 3600.0


@dataclass
class Resumption:
    """What is known of the interrupted run; `run` is None where there is none. Reads only.

    Attributes:
        tell: a word for whoever waits.
    """

    state: Path
    node: Node
    inventory: Inventory
    sessions: Sessions
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    tell: Callable[[str], None]
    run: Interrupted | None = None
    claims: dict[str, tuple[Claim, ...]] = field(default_factory=dict)

    def observe(self, look: Callable[[], Observation]) -> Observation:
        """The facts, once nothing that the interrupted run has begun goes on any more, as far as that can be waited for."""
        self.run = interrupted_in(self.state, self.node.name)
        if hypervisor := self._hypervisor:
            self._read(hypervisor, HYPERVISOR_LOCK)
        observation = look()
        if self.run and self.run.if_down and not self.stopped(observation):
            self.run, self.claims = None, {}
        observation = self._until_back(observation, look)
        if observation.silence is None and self._read(self.node, NODE_LOCK):
            observation = look()
        return observation

    @property
    def _hypervisor(self) -> Hypervisor | None:
        return self.inventory.hypervisors.get(self.node.hypervisor)

    def _read(self, on: Host, name: str) -> bool:
        """The lock and the claims on a host; whether something was waited for. A host that does not answer tells nothing."""
        session, host = self.sessions.session(on), on.name
        until = time.monotonic() + _WAITED_S
        waited = False
        try:
            self._note_holder(lapsed_holder(session, name))
            while self.run:
                self.claims[host] = parse_claims(session.run(claims(self.run.chain)))
                going = [one for one in self.claims[host] if one.state == RUNNING]
                if not going or time.monotonic() >= until:
                    break
                self.tell(
                    f"{going[0].name} of the interrupted run {going[0].run_id} goes on on {host}: waiting for it"
                )
                waited = True
                self.sleep(_POLL_S)
        except FleetopsError as error:
            self.tell(f"what an interrupted run has left on {host} could not be read: {error.message}")
        return waited

    def _note_holder(self, held: Any) -> None:
        """A lapsed lock of a run on this node that the journals here do not know of, or that is newer than what they know."""
        if held is None or node_of(held[0].run_id) != self.node.name:
            return
        if (self.state / "runs" / held[0].run_id).is_dir():
            return  # its journal is here, and has been asked
        if self.run is None or held[0].run_id > self.run.run_id:
            known = self.run.chain if self.run else ()
            told = interrupted_by(held[0], self.clock(), held[1])
            self.run = replace(told, chain=(*told.chain, *known))

    def _until_back(self, observation: Observation, look: Callable[[], Observation]) -> Observation:
        """A guest whose start was submitted is waited for: its silence is no failure yet."""
        until = time.monotonic() + _BACK_S
        while self._is_coming(observation) and time.monotonic() < until:
            self.tell(f"{self.node.name} was started by the interrupted run: waiting until it is back")
            self.sleep(_POLL_S)
            observation = look()
        return observation

    def _is_coming(self, observation: Observation) -> bool:
        if self.run is None or self.clock() - self.run.at > _FRESH_S or observation.silence is None:
            return False
        return self._claim(START) is not None and _guest_status(observation) == "running"

    def _claim(self, name: str) -> Claim | None:
        """The newest claim of that name on the hypervisor, along the chain of interrupted runs."""
        found = {one.run_id: one for one in self.claims.get(self.node.hypervisor, ()) if one.name == name}
        chain = self.run.chain if self.run else ()
        return next((found[run_id] for run_id in chain if run_id in found), None)

    def stopped(self, observation: Observation) -> Claim | None:
        """The stop of a guest that the interrupted run was about to start again; None where the facts show another state."""
        stop, start = self._claim(STOP), self._claim(START)
        guest = self.node.guest
        if stop is None or guest is None or guest_in(stop.note) != guest.id or observation.silence is None:
            return None
        if start and start.state == "ended 0":
            return None
        return stop if _guest_status(observation) not in {"", "running"} else None

    def service(self, observation: Observation) -> ServiceRecord | None:
        """The service that the interrupted run has started and that lives; it is not started a second time."""
        records = observation.node_facts.value(SERVICE_RECORDS) or ()
        table = observation.node_facts.value(PROCESSES) or ()
        living = {(one.pid, one.start_ticks) for one in table if one.is_alive and not one.is_zombie}
        for record in records:
            if self.run and record.run_id in self.run.chain and (record.pid, record.start_ticks) in living:
                same = observation.profile is not None and observation.profile.name == record.profile
                return record if same else None
        return None

    def situation(self, past: Situation) -> Situation:
        """The situation with what was left behind."""
        if self.run is None:
            return past
        stop = self.stopped(past.observation)
        # The claims of other changes do not tell how they ended: the facts do.
        left = tuple(
            f"{one.name} of {one.run_id} on {host}: {one.state}"
            for host, found in self.claims.items()
            for one in found
            if one.name in {STOP, START} or one.state == RUNNING
        )
        self.run = replace(self.run, left=left)
        return replace(
            past,
            continues=self.run.chain,
            stopped_by=stop.run_id if stop else "",
            stopped_life=stop.note if stop else "",
        )

    def book(self, book: Playbook, observation: Observation) -> Playbook:
        """The playbook from where it has to go on: with the guest's start, or with the wait for the service, or as it is."""
        if self.stopped(observation):
            entries = (replace(one, when=()) if all_steps()[one.step].powers else one for one in book.entries)
            return replace(book, entries=tuple(entries))
        steps = [one.step for one in book.entries]
        if self.service(observation) and "await-ready" in steps:
            return replace(book, entries=book.entries[steps.index("await-ready") :])
        return book

    def memo(self, observation: Observation, now: float) -> dict[str, Any]:
        """What the steps that go on would have been left by those before; `now` is on the desk's clock."""
        record = self.service(observation)
        if record is None:
            return {}
        since = self.run.launched_at if self.run else None
        ago_s = self.clock() - since if since else 0.0
        started = Started(
            pid=record.pid, start_ticks=record.start_ticks, log=record.log, at=now - ago_s, unit=record.unit
        )
        return {"started": started, **taken_over(record.run_id)}

    def close(self) -> None:
        """Nothing is left to do: said in the journals of the interrupted runs that are here, their lapsed locks given back."""
        for run_id in self.run.chain if self.run else ():
            folder = self.state / "runs" / run_id
            if (folder / "journal.jsonl").exists():
                note_as_finished(
                    folder, self.clock(), f"{self.node.name} was found well, with nothing left to do"
                )
            release_lock(self.sessions.session(self.node), NODE_LOCK, run_id)
            if hypervisor := self._hypervisor:
                release_lock(self.sessions.session(hypervisor), HYPERVISOR_LOCK, run_id)


def _guest_status(observation: Observation) -> str:
    facts = observation.hypervisor_facts
    guest = facts.value(GUEST) if facts else None
    return guest.status if guest else ""
