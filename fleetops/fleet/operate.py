"""One playbook on one node: look, plan, and on the operator's word, run. What recover, kill, reset-gpus and launch share."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fleetops.checks import judge
from fleetops.checks.support.another import another
from fleetops.fleet.health import judge_health
from fleetops.fleet.launched import launched_last
from fleetops.fleet.observe import observe
from fleetops.fleet.probe import remember_identity
from fleetops.fleet.prove import explain_with, prove
from fleetops.fleet.read import Sessions
from fleetops.fleet.resume import Resumption
from fleetops.fleet.silent import must_be_recoverable
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import Unreachable
from fleetops.model.event import Sink
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory, Node, Profile
from fleetops.model.plan import Plan
from fleetops.model.record import Result
from fleetops.playbook.book import Playbook
from fleetops.playbook.breaker import Gate
from fleetops.playbook.desk import RunDesk, Tools
from fleetops.playbook.journal import Journal
from fleetops.playbook.lock import HYPERVISOR_LOCK, must_be_free
from fleetops.playbook.plan import make_plan
from fleetops.playbook.runner import Runner
from fleetops.source.transport import ProofCache
from fleetops.steps.support.base import Situation
from fleetops.store.breaker import BreakerStore
from fleetops.store.database import Store
from fleetops.store.proofs import Proofs


@dataclass(kw_only=True)
class Operation:
    """A playbook meant for a node, with all that it needs; nothing is contacted before `prepare`.

    Attributes:
        sessions: where connections come from.
        state: the folder of journals and records.
        waived: guard -> reason, as the operator gave them.
        proofs: what was proven before; nothing is kept without it.
        tell: a word for whoever waits until a plan can be made.
        resumption: what an interrupted run has left, once `prepare` has looked.
        gate: the fleet's breaker, as this operation meets it.
    """

    inventory: Inventory
    node: Node
    profile: Profile | None
    book: Playbook
    sessions: Sessions
    state: Path
    waived: Mapping[str, str] = field(default_factory=dict)
    proofs: ProofCache = field(default_factory=lambda: Proofs(None))
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda _text: None
    store: Store = field(init=False)
    resumption: Resumption = field(init=False)
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.state, self.tell)
        self.resumption = Resumption(
            state=self.state,
            node=self.node,
            inventory=self.inventory,
            sessions=self.sessions,
            clock=self.clock,
            sleep=self.sleep,
            tell=self.tell,
        )
        counted = BreakerStore(self.state, self.inventory.settings.breaker)
        self.gate = Gate(counted, self.node.name, self.book, self.clock, self.tell)

    def look(self) -> Observation:
        """All facts of the node now, with the identity and the idle state that were recorded for it."""
        recorded = self.node.machine_id or self.store.machine_id(self.node.name)
        return observe(
            self.sessions,
            self.inventory,
            replace(self.node, machine_id=recorded),
            profile=self.profile,
            baseline=self.store.baseline(self.node.name),
            peers=self.store.baselines(),
            clock=self.clock,
        )

    def prove(self, situation: Situation) -> Situation:
        """The situation with what the profile's flags mean in the source that would run now."""
        known = replace(situation, device_tokens=self._device_tokens())
        return prove(known, self._ask, explain_with(self.proofs))

    def _device_tokens(self) -> int | None:
        """Of one rank's GPU pool, as the last launch here has shown, where it was of this profile."""
        last = self.store.last_launch(self.node.name)
        same = last is not None and self.profile is not None and last.profile == self.profile.name
        return last.capacity.device_tokens if last and same else None

    def _ask(self, command: Command) -> Outcome:
        return self.sessions.session(self.node).run(command)

    def prepare(self) -> tuple[Plan, Situation]:
        """Look, prove what a launch rests on, and plan; a service that is well needs no proof.

        Raises Unreachable where the node does not answer and nothing shows that it is the node itself that hangs, or
        that the guest is the node: unknown is no reason to act.
        """
        recovers = self.book.name == "recover"
        observation = self.resumption.observe(self.look) if recovers else self.look()
        if observation.silence is None:
            remember_identity(self.store, observation)
        elif not self.resumption.stopped(observation):
            self._must_be_plannable(observation)
        situation = Situation(
            inventory=self.inventory,
            observation=observation,
            findings=judge(observation),
            before=observation,
            run_id=self._run_id(),
            waived=self.waived,
        )
        situation, book = self.resumption.situation(situation), self.book
        self.book = self.resumption.book(book, observation)
        well = ""
        # Whatever serves on another machine is not the node's, and says nothing of it. A service that an interrupted run has
        # started may serve, and is not proven yet.
        if recovers and self.book.entries[0] == book.entries[0] and not another(observation):
            health = judge_health(situation, self.sessions)
            well, situation = health.well, health.situation
        proves = any(entry.step == "prove" for entry in book.entries) and not observation.silence
        if not well and self.profile and proves:
            situation = self.prove(situation)
        plan = make_plan(self.book, situation)
        interrupted = self.resumption.run
        told = replace(plan, healthy=well, launched_last=self._launched_last(), interrupted=interrupted)
        return self.gate.judged(told), situation

    def _launched_last(self) -> str:
        """What a recovery by the inventory's profile would replace: somebody launched another one here since."""
        relaunches = self.book.name == "recover" and any(one.step == "prove" for one in self.book.entries)
        if not relaunches or self.profile is None or self.profile.name != self.node.profile:
            return ""
        return launched_last(self.store, self.inventory, self.node)

    def _must_be_plannable(self, observation: Observation) -> None:
        """Raises Unreachable where nothing may be planned for a silent node, with what to type.

        Raises Refused instead while a run holds its hypervisor's lock: the node whose power it switches is silent, and its
        guest may be stopped, so that what is told to type else would act against that run.
        """
        try:
            must_be_recoverable(observation, self.book)
        except Unreachable:
            facts, host = observation.hypervisor_facts, observation.hypervisor
            if host and facts and not facts.silence:
                must_be_free(self.sessions.session(host), HYPERVISOR_LOCK)
            raise

    def execute(self, situation: Situation, sink: Sink) -> Result:
        """Run the playbook. Raises only what happens before the first step (the breaker, a journal that cannot be written)."""
        tools = Tools(
            inventory=self.inventory,
            observe=self.look,
            prove=self.prove,
            session=lambda name: self.sessions.session(self.inventory.host(name)),
            store=self.store,
            sink=sink,
            clock=self.clock,
            sleep=self.sleep,
        )
        with self.gate.passed(situation.run_id) as passage:
            journal = Journal(self.state, situation.run_id)
            memo = self.resumption.memo(situation.observation, tools.monotonic())
            desk = RunDesk(tools, journal, situation, memo=memo)
            result = Runner(self.book, desk).run()
            passage.result, passage.changed = result, desk.changes > 0
        return result

    def _run_id(self) -> str:
        """When, on which node, and a chance part: two controllers that start in the same second are two runs.

        Locks and claims on the hosts are told apart by it, so it must be unique across state folders as well.
        """
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.clock()))
        return f"{stamp}-{self.node.name}-{secrets.token_hex(3)}"
