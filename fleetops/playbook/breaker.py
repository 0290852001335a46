"""The breaker before a run: when too many nodes are under recovery or failed, no other one is begun.

A mistake that repeats itself (a wrong profile, a broken driver, a wrong inventory) is a mistake on every node that is
healed after it. It is no guard of one node, and no option overrides it: a person looks, and closes it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fleetops.model.breaker import Breaker, CountedRun
from fleetops.model.errors import FleetopsError, Refused
from fleetops.model.plan import Plan, PlannedStep
from fleetops.model.record import Result
from fleetops.playbook.book import Playbook
from fleetops.steps import all_steps
from fleetops.store.breaker import BreakerStore

NAME = "breaker"
_HINT = "fleetops breaker shows what counts; a person closes it: fleetops breaker reset --why TEXT"
# What shows that the node is well, or serves: after that nothing that failed there before counts.
_SHOWS_WELL = {"verify-reclaimed", "record-launch"}


@dataclass
class Gate:
    """The breaker as one run of a playbook on a node meets it.

    Attributes:
        tell: a word for whoever watches.
    """

    store: BreakerStore
    node: str
    book: Playbook
    clock: Callable[[], float]
    tell: Callable[[str], None]

    @property
    def counts(self) -> bool:
        """A playbook that may go as far as rung 3: a smaller one ends what is there, and heals nothing that could go wrong."""
        return any(all_steps()[entry.step].acts_outside for entry in self.book.entries)

    @property
    def _shows_well(self) -> bool:
        return any(entry.step in _SHOWS_WELL for entry in self.book.entries)

    def judged(self, plan: Plan) -> Plan:
        """The plan, with every step refused where the run would not be let through as things stand."""
        why = self.store.read(self.clock()).holds_up(self.node) if self.counts else ""
        if not why:
            return plan
        steps = (
            _held_up(step, why if not number else "the breaker") for number, step in enumerate(plan.steps)
        )
        return replace(plan, steps=tuple(steps))

    @contextmanager
    def passed(self, run_id: str) -> Iterator["Passage"]:
        """Let one run through, and note how it ends. Raises Refused (guard `breaker`) instead, before anything is changed."""
        run = CountedRun(run_id=run_id, node=self.node, playbook=self.book.name, began_at=self.clock())
        if self.counts and (seen := self.store.begin(run)):
            raise self._refused(seen)
        passage = Passage()
        try:
            yield passage
        except FleetopsError:
            # What is raised, and not a result, came before the first step.
            if self.counts:
                self.store.drop(run_id)
            raise
        try:
            self._note(run, passage)
        except FleetopsError as error:
            self.tell(f"how run {run_id} ended could not be noted, so it goes on counting: {error.message}")

    def found_well(self) -> None:
        """Nothing needed doing there: what was counted is over."""
        self.store.well(self.node)

    def _refused(self, seen: Breaker) -> Refused:
        return Refused(seen.holds_up(self.node), guard=NAME, host=self.node, hint=_HINT)

    def _note(self, run: CountedRun, passage: "Passage") -> None:
        result = passage.result
        if result is None:
            return
        if result.status == "done":
            if self._shows_well or self.counts:
                self.store.well(self.node, "" if self._shows_well else self.book.name)
        elif self.counts and passage.changed:
            now = self.clock()
            self.store.end_badly(replace(run, status=result.status, ended_at=now, why=result.why), now)
        elif self.counts:
            self.store.drop(run.run_id)


@dataclass
class Passage:
    """How a run that was let through has ended; `changed`: it has made a change. Without a result it goes on counting."""

    result: Result | None = None
    changed: bool = False


def _held_up(step: PlannedStep, why: str) -> PlannedStep:
    """Whatever the facts call for, nothing of it is begun."""
    return replace(
        step, actions=(), skip="", called_for=True, blocked=why, guard=NAME, mend=_HINT, hopeless=True
    )
