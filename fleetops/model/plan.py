"""Plans: the ordered steps of a recovery or launch, with the exact commands they would run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetops.model.command import Command
from fleetops.model.interrupted import Interrupted
from fleetops.model.proof import Explanation
from fleetops.model.sizing import Budget


@dataclass(frozen=True, kw_only=True)
class Action:
    """One command on one host, and why it is run."""

    host: str
    command: Command
    why: str


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step of a plan.

    Attributes:
        step: the step's name in the playbook.
        title: what it does, in a few words.
        host: where it acts; "" for a step that only judges.
        detail: with what, for a person (`TERM, 20 s, KILL to 9 processes`).
        condition: when it will be skipped, in words (`if GPU memory stays held`); "" when it always runs.
        called_for: the present facts call for it; a step that only later facts might call for changes nothing as they are.
        skip: why it is already known to be unnecessary; "" when it is not.
        blocked: why it will be refused as things stand; "" when nothing stands against it. Of several lines the last
            one says it all, the others show why.
        hopeless: the run cannot end well whatever the steps before this one do, so it is not begun.
        guard: the guard that refuses it; `mend`: what to do about it.
        actions: the exact commands, as far as the present facts tell them.
    """

    step: str
    title: str
    host: str = ""
    detail: str = ""
    condition: str = ""
    called_for: bool = True
    skip: str = ""
    blocked: str = ""
    hopeless: bool = False
    guard: str = ""
    mend: str = ""
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a playbook would do to one node, as the facts stand.

    Attributes:
        touches: what may be changed, in words.
        spares: neighbours that are not touched, by name.
        launched_last: the profile that was last launched there, where it is another one that the inventory has; "" else.
        healthy: why nothing needs doing; "" when something does.
        engine: the profile's, as a person writes it; "" without a profile.
        proofs: flag name -> what the source that would run shows of it.
        budget: the arithmetic of the launch; None where nothing is launched.
        waived: guard -> the operator's reason for overruling it.
        file: where an own playbook was read; "" for a shipped one.
        left_out: which of the playbook's steps are not taken, and why; "" where all are.
        interrupted: the run that this one goes on from; None where there is none.
    """

    playbook: str
    node: str
    profile: str
    steps: tuple[PlannedStep, ...]
    touches: str = ""
    spares: tuple[str, ...] = ()
    launched_last: str = ""
    healthy: str = ""
    engine: str = ""
    proofs: Mapping[str, Explanation] = field(default_factory=dict)
    budget: Budget | None = None
    waived: Mapping[str, str] = field(default_factory=dict)
    interrupted: Interrupted | None = None
    file: str = ""
    left_out: str = ""

    @property
    def first_obstacle(self) -> PlannedStep | None:
        """The step at which the run would be refused before it has changed anything; None where it gets further."""
        for step in self.steps:
            if step.blocked and step.hopeless:
                return step
        for step in self.steps:
            if step.blocked:
                return step
            if step.called_for and not step.skip and any(action.command.changes for action in step.actions):
                return None
        return None
