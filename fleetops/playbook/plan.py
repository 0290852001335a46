"""What a playbook would do, as the facts stand: every step with its exact commands, and what would refuse it."""

from dataclasses import replace

from fleetops.checks.support.another import another
from fleetops.model.errors import Refused
from fleetops.model.finding import Observation
from fleetops.model.guest import GUESTS
from fleetops.model.plan import Plan, PlannedStep
from fleetops.model.sizing import Budget
from fleetops.platforms import platform_of
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.guards import first_objection, objection
from fleetops.steps import all_steps
from fleetops.steps.support.base import Situation, Step
from fleetops.steps.support.launching import budget_for
from fleetops.steps.support.proof import title_of


def make_plan(book: Playbook, situation: Situation) -> Plan:
    """The plan of `book` for the present situation; pure."""
    node = situation.observation.node
    return Plan(
        playbook=book.name,
        node=node.name,
        profile=situation.profile.name if situation.profile else "",
        steps=_planned_in_order(book, situation),
        touches=_touches(book, situation),
        spares=() if _rebooted(book) else _neighbours(situation),
        engine=title_of(situation.profile.engine) if situation.profile else "",
        proofs=situation.proofs,
        budget=_budget(book, situation),
        waived=situation.waived,
        file=book.file,
        left_out=book.left_out,
    )


def _budget(book: Playbook, situation: Situation) -> Budget | None:
    """What the playbook's launch asks of the node; None where it has none, or its engine is not launched."""
    if situation.profile is None or not any(entry.step == "size" for entry in book.entries):
        return None
    try:
        return budget_for(situation)
    except Refused:
        return None


def _planned_in_order(book: Playbook, situation: Situation) -> tuple[PlannedStep, ...]:
    if refused := _refused_from_the_start(book, situation.observation):
        return _refused_throughout(book, situation, refused)
    planned: list[PlannedStep] = []
    rebooted = False
    for number, entry in enumerate(book.entries, 1):
        step = _in_silence(book, number, _planned(entry, situation), situation)
        planned.append(_once_back(step) if rebooted else step)
        rebooted |= all_steps()[entry.step].reboots
        if all_steps()[entry.step].ends_service:
            situation = replace(situation, service_ends_before=True)
    return tuple(planned)


def _refused_from_the_start(book: Playbook, observation: Observation) -> Refused | None:
    """What no step can change: another machine answers, or whoever wrote the inventory wants nothing changed here."""
    if another(observation):
        return objection("identity", observation)
    steps = (all_steps()[entry.step] for entry in book.entries)
    return (
        objection("protected", observation) if any(one.guards or one.acts_outside for one in steps) else None
    )


_THROUGHOUT = {"identity": "another machine answers", "protected": "a protected host"}


def _refused_throughout(book: Playbook, situation: Situation, refused: Refused) -> tuple[PlannedStep, ...]:
    """Nothing is planned, step by step: why is said once."""
    steps = (all_steps()[entry.step] for entry in book.entries)
    return tuple(
        PlannedStep(
            step=step.name,
            title=step.name.replace("-", " "),
            host=situation.node_name,
            blocked=_THROUGHOUT[refused.guard] if number else refused.message,
            guard=refused.guard,
            mend=refused.hint,
        )
        for number, step in enumerate(steps)
    )


NO_SIGNAL = "no signal reaches it: SSH is silent"


def is_out_of_reach(book: Playbook, number: int, situation: Situation) -> bool:
    """Whether the book's step of that number can do nothing for a silent node, and a later one will bring it back."""
    if situation.observation.silence is None or _silent_too(book.entries[number - 1]):
        return False
    return any(all_steps()[entry.step].powers for entry in book.entries[number:])


def _silent_too(entry: Entry) -> bool:
    step = all_steps()[entry.step]
    return step.powers or step.without_node


def _in_silence(book: Playbook, number: int, planned: PlannedStep, situation: Situation) -> PlannedStep:
    """The step as it stands for a node that does not answer: not before it is back, and then from what is read there."""
    if situation.observation.silence is None:
        return planned
    if _silent_too(book.entries[number - 1]):
        # Nothing that came before could have sufficed.
        return (
            replace(planned, condition="") if all_steps()[book.entries[number - 1].step].powers else planned
        )
    later = _once_back(planned)
    if is_out_of_reach(book, number, situation):
        return replace(later, condition="", skip=NO_SIGNAL)
    return later


def _once_back(planned: PlannedStep) -> PlannedStep:
    """What the node is now says nothing of it."""
    as_is = replace(planned, detail="", actions=(), blocked="", hopeless=False, guard="", mend="", skip="")
    return replace(as_is, condition="once the node is back, by what is read there then")


# Those that only a guest that runs can answer, or that must hold before it is stopped.
_OF_A_RUNNING_GUEST = {"identity", "guest-identity", "pending"}


def guards_of(step: Step, situation: Situation) -> tuple[str, ...]:
    """The guards that must hold for a step on this node, each once. Raises Refused for a kind of node not known.

    A guest that an interrupted run has stopped cannot say who it is: that run has seen it, right before.
    """
    guards, node = step.guards, situation.observation.node
    if step.acts_outside:
        platform = platform_of(node)
        guards = (*guards, *(platform.power_guards if step.powers else platform.guards))
    down = situation.stopped_by and step.powers
    return tuple(one for one in dict.fromkeys(guards) if not down or one not in _OF_A_RUNNING_GUEST)


def _planned(entry: Entry, situation: Situation) -> PlannedStep:
    step = all_steps()[entry.step]
    try:
        planned = step.plan(situation, step.settle(entry.options))
    except Refused as error:
        planned = PlannedStep(
            step=step.name,
            title=step.name.replace("-", " "),
            blocked=error.message,
            guard=error.guard,
            mend=error.hint,
        )
    if entry.when and not situation.has(*entry.when):
        # As things stand it is not needed, so it stands in nobody's way; should it be, its guards are asked then.
        return replace(planned, called_for=False, blocked="", guard="", mend="")
    if planned.blocked or planned.skip:
        return planned
    refused = _first_refusal(step, situation)
    if refused is None:
        return planned
    return replace(planned, blocked=refused.message, guard=refused.guard, mend=refused.hint)


def _first_refusal(step: Step, situation: Situation) -> Refused | None:
    return first_objection(guards_of(step, situation), situation)


def _touches(book: Playbook, situation: Situation) -> str:
    """The blast radius in words: the node, and its GPUs on the hypervisor where a step may go there."""
    node = situation.observation.node
    reaches_up = any(all_steps()[entry.step].acts_outside for entry in book.entries)
    gpus = f" and its {node.gpus} GPUs" if node.gpus else " and its GPUs"
    touched = f"{node.name}{gpus} on {node.hypervisor}" if reaches_up and node.hypervisor else node.name
    if not _rebooted(book):
        return touched
    others = ", ".join(_neighbours(situation))
    return f"{touched}; a person reboots {node.hypervisor or node.name}{f', which ends {others} as well' if others else ''}"


def _rebooted(book: Playbook) -> bool:
    return any(all_steps()[entry.step].reboots for entry in book.entries)


def _neighbours(situation: Situation) -> tuple[str, ...]:
    """Who else runs on the same hypervisor, as it says itself; as the inventory says where it could not be asked."""
    node, facts = situation.observation.node, situation.observation.hypervisor_facts
    entries = facts.value(GUESTS) if facts else None
    if entries and node.guest:
        own = next((entry for entry in entries if entry.id == node.guest.id), None)
        return tuple(
            f"guest {entry.id} ({entry.name})"
            for entry in entries
            if entry is not own and entry.status != "stopped" and (own is None or entry.node == own.node)
        )
    others = situation.inventory.nodes.values()
    return tuple(
        one.name
        for one in others
        if node.hypervisor and one.hypervisor == node.hypervisor and one.name != node.name
    )
