"""Runs a playbook on one node: each step in order, facts read again after each, everything in the journal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fleetops.engines.attribution import attribute
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.event import StepEnded, StepStarted, StepStatus
from fleetops.model.finding import Severity
from fleetops.model.record import ReclaimRow, Result
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.desk import RunDesk
from fleetops.playbook.lock import HYPERVISOR_LOCK, LEAST_LEASE_S, NODE_LOCK, Owner, release_lock
from fleetops.playbook.opening import opening
from fleetops.playbook.plan import NO_SIGNAL, guards_of, is_out_of_reach
from fleetops.steps import all_steps
from fleetops.steps.support.agreed import started_again
from fleetops.steps.support.base import Skip, Step
from fleetops.steps.support.interrupted import LEFT_BEHIND, LeftBehind
from fleetops.steps.support.launching import Started
from fleetops.steps.support.reclaim import missing_facts, reclaim_rows, told

_POLL_S = 1.0
_MOST_NAMED = 3


@dataclass
class Runner:
    """One run of one playbook on one node."""

    book: Playbook
    desk: RunDesk

    def run(self) -> Result:
        """Every step; the result says how it ended. Raises nothing that a step raises, KeyboardInterrupt included."""
        node = self.desk.current.node_name
        owner = Owner.this_process(self.desk.journal.run_id)
        self._write("begin", **opening(self.book, self.desk.current, owner))
        try:
            status, failure = self._outcome(node)
            self._clear_behind(status)
        finally:
            self._unlock()
        return self._end(status, failure)

    def _outcome(self, node: str) -> tuple[str, FleetopsError | None]:
        """How the steps ended, the operator's interruption included."""
        try:
            self.desk.keep_facts("before")
            self.desk.lease_s = self._lease_s()
            self._lock_first(node)
            self._must_be_as_planned()
            for number, entry in enumerate(self.book.entries, 1):
                self._step(number, entry)
        except Refused as error:
            return "refused", error
        except FleetopsError as error:
            return "failed", error
        except KeyboardInterrupt:
            return "interrupted", self._interrupted(node)
        return "done", None

    def _interrupted(self, node: str) -> FleetopsError:
        """What is left behind is said, and what to type then."""
        left = self.desk.memo.get(LEFT_BEHIND)
        if isinstance(left, LeftBehind):
            return FleetopsError(f"by the operator: {left.what}", hint=left.to_type)
        nothing = "" if self.desk.changes else ": nothing was changed"
        again = f"fleetops probe {node}, then the same command again: it reads the facts anew"
        return FleetopsError(f"by the operator{nothing}", hint=again)

    def _hint(self, failure: FleetopsError) -> str:
        """What goes on without us is said first."""
        node, started = self.desk.current.node_name, self.desk.memo.get("started")
        if not isinstance(started, Started):
            return failure.hint
        goes_on = f"what was started on {node} goes on (pid {started.pid}, log {started.log})"
        return f"{goes_on}; fleetops probe {node} shows how it fares, fleetops kill {node} ends it"

    def _must_be_as_planned(self) -> None:
        """Between the plan and the lock somebody else may have been here: what has come since was never agreed to.

        A node that is silent is looked at right before its power is switched, and must be silent still: each look at it
        costs as long as its silence is waited for.
        """
        if self.desk.mute:
            return
        planned = {(one.pid, one.start_ticks) for one in self.desk.current.attribution.processes}
        new = [
            one for one in self.desk.look().attribution.living if (one.pid, one.start_ticks) not in planned
        ]
        if new:
            node = self.desk.current.node_name
            raise Refused(
                f"{node} has changed since the plan was made: {new[0].title} (pid {new[0].pid}) has been started",
                guard="changed",
                host=node,
                hint="run the same command again: it looks anew",
            )

    def _step(self, number: int, entry: Entry) -> None:
        step = all_steps()[entry.step]
        planned = step.plan(self.desk.current, step.settle(entry.options))
        self.desk.step = step.name
        self.desk.guards = self._guards(step)
        started = self.desk.now()
        self.desk.tools.sink(
            StepStarted(number=number, step=step.name, title=planned.title, host=planned.host)
        )
        self._write("step", step=step.name)
        status: StepStatus = "failed"
        detail = "interrupted"
        try:
            status, detail = self._attempt(step, entry, number)
        except FleetopsError as error:
            status, detail = ("refused" if isinstance(error, Refused) else "failed"), error.message
            # A failed rung may be followed by the next one; a guard's refusal always ends the run.
            if isinstance(error, Refused) or entry.on_failure == "stop":
                raise
        finally:
            seconds = self.desk.now() - started
            self._write("step-end", step=step.name, status=status, detail=detail)
            self.desk.tools.sink(
                StepEnded(
                    number=number,
                    step=step.name,
                    title=planned.title,
                    status=status,
                    detail=detail,
                    seconds=seconds,
                )
            )

    def _attempt(self, step: Step, entry: Entry, number: int) -> tuple[StepStatus, str]:
        if is_out_of_reach(self.book, number, self.desk.current):
            return "skipped", NO_SIGNAL
        if entry.when and not (self.desk.current if self.desk.mute else self.desk.look()).has(*entry.when):
            return "skipped", self._why_not(entry)
        self._lock_for(step)
        try:
            detail = self._run_step(step, entry)
        except Skip as skip:
            return "skipped", str(skip)
        if entry.until:
            self._await(entry, step)
        return "done", detail

    def _run_step(self, step: Step, entry: Entry) -> str:
        """The node's own lock goes with its power: meanwhile the hypervisor's protects it, and it is taken anew after."""
        options, node = step.settle(entry.options), self.desk.current.node_name
        if not (step.powers or step.reboots):
            return step.run(self.desk, options)
        own = [lock for lock in self.desk.locks if lock == (node, NODE_LOCK)]
        self.desk.locks = [lock for lock in self.desk.locks if lock not in own]
        try:
            detail = step.run(self.desk, options)
        except BaseException:
            self.desk.locks += [lock for lock in own if lock not in self.desk.locks]
            raise
        self.desk.lock(node, NODE_LOCK)
        return detail

    def _must_stay_down(self) -> None:
        """What starts the service again, and was not found to, would undo every further step: it is named, and ends the run."""
        situation = self.desk.current
        agreed = attribute(situation.before).processes
        again = started_again(agreed, situation.attribution.living, situation.observation)
        if again:
            node = situation.node_name
            raise Refused(
                f"{again} on {node}",
                guard="supervisor",
                host=node,
                hint="stop what starts it, then run the same command again",
            )

    def _why_not(self, entry: Entry) -> str:
        """An unknown is no reason to act, and is not told as if all were well."""
        unknown = [
            one
            for one in self.desk.current.findings
            if one.check in entry.when and one.severity is Severity.UNKNOWN
        ]
        if unknown:
            return f"no reason to act, though not known: {unknown[0].evidence}"
        if len(entry.when) > _MOST_NAMED:
            return "not needed: nothing that it answers was found"
        return f"not needed: {', '.join(entry.when)} not found"

    def _await(self, entry: Entry, step: Step) -> None:
        """The facts that the playbook wants after this step, polled to its deadline."""
        until = self.desk.now() + entry.deadline_s
        while left := missing_facts(self._rows(), entry.until):
            if step.ends_service:
                self._must_stay_down()
            if self.desk.now() >= until:
                raise StepFailed(
                    f"after {entry.deadline_s:g} s: {told(left)}", host=self.desk.current.node_name
                )
            self.desk.tell(f"waiting: {told(left)}")
            self.desk.wait(_POLL_S)

    def _rows(self) -> tuple[ReclaimRow, ...]:
        return reclaim_rows(self.desk.current.before, self.desk.look().observation)

    def _guards(self, step: Step) -> tuple[str, ...]:
        return guards_of(step, self.desk.current)

    def _lock_for(self, step: Step) -> None:
        """A step that acts on the hypervisor needs its lock as well: one recovery per Proxmox host at a time."""
        host = self.desk.current.observation.node.hypervisor
        if step.acts_outside and host and (host, HYPERVISOR_LOCK) not in self.desk.locks:
            self.desk.lock(host, HYPERVISOR_LOCK)

    def _lock_first(self, node: str) -> None:
        """The node's lock; of a node that does not answer its hypervisor's, until the node is back."""
        observation = self.desk.current.observation
        self.desk.mute = observation.silence is not None
        if self.desk.mute and observation.hypervisor:
            self.desk.lock(observation.hypervisor.name, HYPERVISOR_LOCK)
        else:
            self.desk.lock(node, NODE_LOCK)

    def _lease_s(self) -> int:
        """Longer than the whole run may take: the playbook's own deadlines, and the profile's."""
        profile = self.desk.current.profile
        launch_s = profile.ready_deadline_s + profile.watch_s if profile else 0.0
        observation = self.desk.current.observation
        commands_s = sum(all_steps()[entry.step].takes_s(observation) for entry in self.book.entries)
        steps_s = sum(
            entry.deadline_s + all_steps()[entry.step].waits_s(entry.options) for entry in self.book.entries
        )
        return round(LEAST_LEASE_S + launch_s + steps_s + commands_s)

    def _unlock(self) -> None:
        for host, name in reversed(self.desk.locks):
            ours = False
            with _said(self, f"the lock on {host} could not be released"):
                ours = release_lock(self.desk.tools.session(host), name, self.desk.journal.run_id)
            with _said(self, "the journal could not be written"):
                self._write("unlocked" if ours else "lock-lost", host=host, name=name)

    def _clear_behind(self, status: str) -> None:
        """What this run went on from is finished: no lapsed lock of it is left to be asked about."""
        if status != "done":
            return
        node = self.desk.current.observation.node
        places = [(node.name, NODE_LOCK), *([(node.hypervisor, HYPERVISOR_LOCK)] if node.hypervisor else [])]
        for run_id in self.desk.current.continues:
            for host, name in places:
                with _said(self, f"the lapsed lock of {run_id} on {host} could not be removed"):
                    release_lock(self.desk.tools.session(host), name, run_id)

    def _write(self, event: str, **body: object) -> None:
        self.desk.journal.write(event, self.desk.tools.clock(), **body)

    def _end(self, status: str, failure: FleetopsError | None) -> Result:
        why, hint = (failure.message, self._hint(failure)) if failure else ("", "")
        guard = failure.guard if isinstance(failure, Refused) else ""
        self.desk.keep_facts("after")
        with _said(self, "how the run ended could not be written down"):
            if self.desk.changes and not self.desk.reclaimed:
                self.desk.write_rows(reclaim_rows(self.desk.current.before, self.desk.current.observation))
            self._write("end", status=status, why=why, hint=hint, guard=guard)
        self.desk.journal.close()
        return Result(
            run_id=self.desk.journal.run_id,
            node=self.desk.current.node_name,
            status=status,
            why=why,
            hint=hint,
            guard=guard,
            reclaimed=self.desk.reclaimed or self._last_rows(status),
            launched=self.desk.launched,
            previous=self.desk.previous_launch(),
            waived=dict(self.desk.current.waived),
            evidence=str(self.desk.journal.folder),
        )

    def _last_rows(self, status: str) -> tuple[ReclaimRow, ...]:
        """A run that stopped after its first change still shows what it has healed and what not, where that can be seen."""
        rows = self._rows() if status != "done" and self.desk.changes else ()
        return rows if any(row.ok is not None for row in rows) else ()


@contextmanager
def _said(runner: Runner, what: str) -> Iterator[None]:
    """A clean-up that fails is said; it must not hide how the run itself ended."""
    try:
        yield
    except FleetopsError as error:
        runner.desk.tell(f"{what}: {error.message}")
