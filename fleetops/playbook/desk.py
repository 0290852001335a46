"""The one place through which steps act: guards before, journal around, facts after."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fleetops.checks import judge
from fleetops.inventory.secrets import known_secrets
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import ConnectionLost, FleetopsError, Refused
from fleetops.model.event import Progress, Sink
from fleetops.model.finding import Baseline, Observation
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.jsonable import jsonable
from fleetops.model.machine import MEMORY
from fleetops.model.plan import Action
from fleetops.model.record import Capacity, LaunchRecord, ReclaimRow
from fleetops.model.session import Answer, Session, Streaming
from fleetops.playbook.attempts import NAME as ATTEMPTS
from fleetops.playbook.attempts import count_attempt, host_of, is_counted
from fleetops.playbook.fence import was_fenced_off
from fleetops.playbook.guards import first_objection
from fleetops.playbook.interrupts import held_back
from fleetops.playbook.journal import Journal, command_entry, outcome_entry
from fleetops.playbook.lock import (
    HYPERVISOR_LOCK,
    LEAST_LEASE_S,
    NODE_LOCK,
    Owner,
    confirm_lock,
    lock_lost,
    take_lock,
)
from fleetops.playbook.lost import Sender
from fleetops.steps.support.base import Situation
from fleetops.store.database import Store


@dataclass(kw_only=True)
class Tools:
    """What a run works with; handed in, so that a test can replace any of it.

    Attributes:
        observe: read all facts of the node now.
        prove: the situation with what its profile's flags mean, read from the source that will run now.
        session: the session to a host by its inventory name.
        clock: seconds since the epoch; `monotonic` only goes forward; `sleep` lets time pass.
    """

    inventory: Inventory
    observe: Callable[[], Observation]
    prove: Callable[[Situation], Situation]
    session: Callable[[str], Session]
    store: Store
    sink: Sink
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class RunDesk:
    """The runner's implementation of `steps.support.base.Desk`.

    Attributes:
        mute: the node was silent when the run began, and nothing has been changed since: it must still be.
        locks: (host, name) of those that the run holds; `lease_s`: for how long it takes one.
    """

    tools: Tools
    journal: Journal
    current: Situation
    step: str = ""
    guards: tuple[str, ...] = ()
    reclaimed: tuple[ReclaimRow, ...] = ()
    launched: LaunchRecord | None = None
    memo: dict[str, Any] = field(default_factory=dict)
    changes: int = 0
    locks: list[tuple[str, str]] = field(default_factory=list)
    lease_s: int = LEAST_LEASE_S
    mute: bool = False

    @property
    def situation(self) -> Situation:
        """The latest situation."""
        return self.current

    def look(self) -> Situation:
        """Read the facts again."""
        observation = self.tools.observe()
        self.current = situate(self.current, observation)
        return self.current

    def prove(self) -> Situation:
        """Read the profile's flags in the source that will run, again; what they mean is written down."""
        self.current = self.tools.prove(self.current)
        told = {name: asdict(proof) for name, proof in self.current.proofs.items()}
        note = self.current.proof_note
        self.journal.write("proofs", self.tools.clock(), step=self.step, flags=told, note=note)
        return self.current

    def ask(self, host: str, command: Command) -> Outcome:
        """Run a command that changes nothing."""
        if command.changes:
            raise ValueError("a changing command must go through change()")
        return self.tools.session(host).run(command)

    def change(self, action: Action) -> Outcome:
        """Guards again, intent down, command, outcome down.

        Raises Refused when a guard does not hold any more. A connection that was lost once the change had begun gives an
        outcome without a status: what became of it is for the facts to tell.
        """
        self._check(self.guards, action.host)
        if ATTEMPTS in self.guards:
            self._count_attempt()
        return self._make(action)

    def change_while_down(self, action: Action, guards: tuple[str, ...]) -> Outcome:
        """A change on the hypervisor while the node is down: its identity cannot be asked, so other guards stand in."""
        self._check(guards, action.host)
        return self._make(action)

    def restore(self, action: Action) -> Outcome:
        """A change that puts something back: journaled, not guarded."""
        return self._make(action)

    def lock(self, host: str, name: str) -> None:
        """Take a lock for this run, or keep it. Raises Refused naming the holder."""
        take_lock(self.tools.session(host), name, Owner.this_process(self.journal.run_id), self.lease_s)
        if (host, name) not in self.locks:
            self.locks.append((host, name))
            self.journal.write("locked", self.tools.clock(), host=host, name=name)

    def _check(self, guards: tuple[str, ...], acts_on: str) -> None:
        """The locks are still ours, and these guards hold. Raises Refused for the first that fails.

        The lock of the host that is acted on is looked at there, in the change's own command.
        """
        for host, name in self.locks:
            if host != acts_on:
                confirm_lock(self.tools.session(host), name, self.journal.run_id)
        observation = self.look().observation
        if self.mute and not observation.silence:
            raise out_of_silence(observation.node.name)
        if refused := first_objection(guards, self.current):
            raise refused

    def _count_attempt(self) -> None:
        """This run has come to rung 3 or 4: it is one attempt, together with those that it goes on from."""
        observation, run_id = self.current.observation, self.journal.run_id
        if is_counted(observation, (run_id, *self.current.continues)):
            return
        host = host_of(observation)
        self.journal.write("attempt", self.tools.clock(), step=self.step, host=host)
        count_attempt(self._sender(host), self.current.node_name, Owner.this_process(run_id))

    def _make(self, action: Action) -> Outcome:
        """Write down, make, write down. Raises Refused where the host finds that the lock is not this run's any more."""
        sender, entry = self._sender(action.host), command_entry(action.host, action.command)
        self.changes += 1
        self.mute = False
        self.journal.write("intent", self.tools.clock(), step=self.step, why=action.why, **entry)
        with held_back(self.tell):
            try:
                outcome = sender.make(action.command, self.step)
            except ConnectionLost as error:
                self._note_outcome(lost=error.message, again=sender.again)
                return Outcome(status=None, stderr=error.message)
            self._note_outcome(**outcome_entry(outcome), again=sender.again)
        if was_fenced_off(outcome):
            raise lock_lost(action.host, self.journal.run_id)
        return outcome

    def _sender(self, host: str) -> Sender:
        """What makes changes on a host, under the lock that is held there."""
        return Sender(self.tools.session(host), self.journal.run_id, self._lock_on(host), self)

    def _lock_on(self, host: str) -> str:
        """The lock that this run holds on a host; a node that has just come back is locked before anything is changed there."""
        name = next((name for where, name in self.locks if where == host), "")
        if not name:
            name = NODE_LOCK if host == self.current.node_name else HYPERVISOR_LOCK
            self.lock(host, name)
        return name

    def _note_outcome(self, **body: Any) -> None:
        """The change is made: that its outcome cannot be written down must not hide it. The next intent will fail."""
        try:
            self.journal.write("outcome", self.tools.clock(), step=self.step, **body)
        except FleetopsError as error:
            self.tell(error.message)

    def request(self, method: str, path: str, body: bytes | None, *, port: int, deadline_s: float) -> Answer:
        """One HTTP request to a port of the node."""
        session = self.tools.session(self.current.node_name)
        return session.request(port, method, path, body, deadline_s=deadline_s)

    def stream(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        port: int,
        headers: Mapping[str, str],
        deadline_s: float,
    ) -> AbstractContextManager[Streaming]:
        """The same, its answer read while it comes."""
        session = self.tools.session(self.current.node_name)
        return session.stream(port, method, path, body, headers=headers, deadline_s=deadline_s)

    def tell(self, text: str) -> None:
        """A word of progress."""
        self.tools.sink(Progress(step=self.step, text=text))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.tools.sleep(seconds)

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""
        return self.tools.monotonic()

    def keep(self, name: str, text: str) -> None:
        """Put a piece of evidence into the run's folder."""
        self.journal.keep(name, text)

    def keep_facts(self, when: str) -> None:
        """Keep all facts as they were last read, as `facts-WHEN.json`. One that cannot be kept is said, and holds up nothing."""
        facts, known = jsonable(self.current.observation), known_secrets(self.tools.inventory)
        try:
            self.journal.keep_json(f"facts-{when}.json", facts, known)
        except FleetopsError as error:
            self.tell(error.message)

    def report_reclaimed(self, rows: tuple[ReclaimRow, ...]) -> None:
        """Keep the table for the result, and in the journal."""
        self.reclaimed = rows
        self.write_rows(rows)

    def write_rows(self, rows: tuple[ReclaimRow, ...]) -> None:
        """The table into the journal."""
        self.journal.write("reclaimed", self.tools.clock(), rows=[asdict(row) for row in rows])

    def previous_launch(self) -> LaunchRecord | None:
        """The last good launch on this node before this run."""
        return self.tools.store.last_launch(self.current.node_name, other_than=self.journal.run_id)

    def record_launch(self, capacity: Capacity) -> None:
        """Remember this launch in the store and the journal."""
        profile = self.current.profile
        self.launched = LaunchRecord(
            node=self.current.node_name,
            profile=profile.name if profile else "",
            at=self.tools.clock(),
            run_id=self.journal.run_id,
            capacity=capacity,
        )
        self.tools.store.record_launch(self.launched)
        previous, written = self.previous_launch(), {"capacity": asdict(capacity)}
        before = {"previous": asdict(previous)} if previous else {}
        self.journal.write("launched", self.tools.clock(), profile=self.launched.profile, **written, **before)

    def record_baseline(self) -> None:
        """Remember the node as it is now, with nothing running, as its idle state."""
        facts = self.current.observation.node_facts
        memory, gpus = facts.value(MEMORY), facts.value(GPUS)
        if memory is None or gpus is None:
            return
        known = self.tools.store.baseline(self.current.node_name)
        if known and known.is_of(memory) and known.available_bytes >= memory.available_bytes:
            return  # an idle state within its margin is no new one: it would let a leak creep in, run by run
        day = time.strftime("%Y-%m-%d", time.gmtime(self.tools.clock()))
        baseline = Baseline(
            available_bytes=memory.available_bytes,
            gpu_used_bytes={gpu.uuid: gpu.memory_used_bytes for gpu in gpus.gpus},
            source=f"recorded {day}",
            total_bytes=memory.total_bytes,
            gpu_model=gpus.model,
        )
        self.tools.store.record_baseline(self.current.node_name, self.tools.clock(), baseline)


def out_of_silence(node: str) -> Refused:
    """The refusal for a node that was silent when the plan was made, and is not any more."""
    return Refused(
        f"{node} answers again: the plan was made for a node that does not",
        guard="changed",
        host=node,
        hint="run the same command again: it looks anew",
    )


def situate(past: Situation, observation: Observation) -> Situation:
    """The situation that a fresh observation makes of a past one."""
    return replace(past, observation=observation, findings=judge(observation))
