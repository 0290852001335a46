"""What a step is, what it may look at, and through whom alone it may act."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetops.engines.attribution import Attribution, attribute
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import UsageError
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.fleet import Inventory, Profile
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.proof import Explanation
from fleetops.model.record import Capacity, LaunchRecord, ReclaimRow
from fleetops.model.session import Answer, Streaming


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Everything a step may look at when it decides: pure data, read a moment ago.

    Attributes:
        observation: the latest facts of the node and its hypervisor.
        findings: what the checks conclude from them.
        before: the facts as they were when the run began.
        service_ends_before: in a plan: an earlier step ends the service, so its processes will be gone.
        proofs: flag name -> what the source that would run shows of it, for the flags that a launch rests on.
        proof_note: what a person should know of how that source was found.
        model_config: the model's own config.json, where it was read; draft_config: of the draft model that its flags name.
        device_tokens: of the GPU pool of one rank, as the last launch of this profile here has shown.
        continues: the interrupted runs that this one goes on from, the newest first.
        stopped_by: the one of them that has stopped the guest and not started it again, "" where none has; `stopped_life`:
            what it has noted of the life that it ended.
    """

    inventory: Inventory
    observation: Observation
    findings: tuple[Finding, ...]
    before: Observation
    run_id: str
    waived: Mapping[str, str] = field(default_factory=dict)
    service_ends_before: bool = False
    proofs: Mapping[str, Explanation] = field(default_factory=dict)
    proof_note: str = ""
    model_config: Mapping[str, Any] | None = None
    draft_config: Mapping[str, Any] | None = None
    device_tokens: int | None = None
    continues: tuple[str, ...] = ()
    stopped_by: str = ""
    stopped_life: str = ""

    @property
    def attribution(self) -> Attribution:
        """Whose processes are there; what was the service's when the run began still is."""
        return attribute(self.observation, earlier=attribute(self.before).processes)

    @property
    def profile(self) -> Profile | None:
        """The profile to relaunch."""
        return self.observation.profile

    @property
    def node_name(self) -> str:
        """The node's inventory name."""
        return self.observation.node.name

    def has(self, *checks: str) -> bool:
        """Whether one of these checks found something certain (an unknown is no reason to act)."""
        certain = {f.check for f in self.findings if f.severity in {Severity.WARNING, Severity.CRITICAL}}
        return bool(certain.intersection(checks))


class Desk(Protocol):
    """Through whom a step acts. The runner's implementation guards and journals every change."""

    @property
    def situation(self) -> Situation:
        """The latest situation."""

    def look(self) -> Situation:
        """Read the facts again."""

    def prove(self) -> Situation:
        """Read the profile's flags in the source that will run, again; the situation has what it shows."""

    def ask(self, host: str, command: Command) -> Outcome:
        """Run a command that changes nothing."""

    def change(self, action: Action) -> Outcome:
        """Check the step's guards again, write the intent down, run the command, write down what came back."""

    def change_while_down(self, action: Action, guards: tuple[str, ...]) -> Outcome:
        """Like `change`, on the hypervisor while the node itself is down: these guards in place of the step's own."""

    def restore(self, action: Action) -> Outcome:
        """Like `change`, but never held back by a guard: it puts back what an earlier change took away."""

    def request(self, method: str, path: str, body: bytes | None, *, port: int, deadline_s: float) -> Answer:
        """One HTTP request to a port of the node."""

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
        """The same, its answer read while it comes. May be called from several threads at once."""

    def tell(self, text: str) -> None:
        """A word of progress for whoever watches."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""

    def keep(self, name: str, text: str) -> None:
        """Put a piece of evidence into the run's folder."""

    def report_reclaimed(self, rows: tuple[ReclaimRow, ...]) -> None:
        """Hand over the before/after table."""

    def previous_launch(self) -> LaunchRecord | None:
        """The last good launch on this node before this run."""

    def record_launch(self, capacity: Capacity) -> None:
        """Remember this launch."""

    def record_baseline(self) -> None:
        """Remember how the node looks now, with nothing running, as its idle state."""

    @property
    def memo(self) -> dict[str, Any]:
        """What earlier steps of this run left for later ones."""


class Options:
    """A step's options, as the playbook gives them over the step's defaults."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def seconds(self, name: str) -> float:
        """A duration in seconds."""
        return float(self._values[name])

    def whole(self, name: str) -> int:
        """A whole number."""
        return int(self._values[name])

    def switch(self, name: str) -> bool:
        """Whether it is on."""
        return bool(self._values[name])


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """An option a step knows: its kind (`duration` in seconds, `whole` number, `switch`), default, and what it is for."""

    kind: str
    default: float
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing a playbook can do.

    Attributes:
        guards: names of the guards that must hold, checked before each of its changes.
        plan: what it would do, from the present facts; pure.
        platform_guards: the guards of the node's platform hold for it too.
        powers: it switches the node's power: the platform's power guards hold for it, what the node's own lock protects ends
            with it, and it brings back a node that does not answer.
        reboots: a person reboots the machine that the node runs on while it waits: what locks on the node protect ends with
            it, the node's neighbours go down as well, and what comes after is planned once it is back.
        without_node: it has something to do while the node does not answer.
        ends_service: after it, the service's processes are gone.
        takes_s: how long its commands may take beside its options and the playbook's deadlines, for the lock's lease.
        relaunches: part of bringing the service up again, left out by `--no-relaunch`.
        needs: names of the steps whose work it rests on: a playbook, or a part of one, has them before it, unconditionally.
        run: do it; returns what was seen, in a few words. Raises StepFailed or Refused. Raises Skip when not needed.
    """

    name: str
    summary: str
    plan: Callable[[Situation, Options], PlannedStep]
    run: Callable[[Desk, Options], str]
    guards: tuple[str, ...] = ()
    platform_guards: bool = False
    powers: bool = False
    reboots: bool = False
    without_node: bool = False
    ends_service: bool = False
    relaunches: bool = False
    needs: tuple[str, ...] = ()
    takes_s: Callable[[Observation], float] = lambda _: 0.0
    options: Mapping[str, OptionSpec] = field(default_factory=dict)

    @property
    def acts_outside(self) -> bool:
        """It may act on the node's hypervisor."""
        return self.platform_guards or self.powers

    def waits_s(self, given: Mapping[str, Any]) -> float:
        """How long its options let it wait, all together, for the lock's lease."""
        options = self.settle(given)
        return sum(options.seconds(name) for name, spec in self.options.items() if spec.kind == "duration")

    def settle(self, given: Mapping[str, Any]) -> Options:
        """The options with defaults filled in. Raises UsageError for one it does not know."""
        for name in given:
            if name not in self.options:
                raise UsageError(
                    f"step {self.name} has no option {name!r}",
                    hint=f"it knows {', '.join(self.options) or 'none'}",
                )
        return Options({name: given.get(name, spec.default) for name, spec in self.options.items()})


class Skip(Exception):  # noqa: N818 - not an error: a step's word that it is not needed
    """A step's word that nothing needs doing, and why."""
