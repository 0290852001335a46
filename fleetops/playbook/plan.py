"""What a playbook would do, as the facts stand: every step with its exact commands, and what would refuse it."""

from dataclasses import replace

from fleetops.checks.support.another import another
from fleetops.model.errors import Refused
from fleetops.model.fleet import Node
from fleetops.model.guest import GUESTS
from fleetops.model.plan import Plan, PlannedStep
from fleetops.model.sizing import Budget
from fleetops.platforms import platform_of
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.guards import objection
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
        spares=_spares(situation),
        engine=title_of(situation.profile.engine) if situation.profile else "",
        proofs=situation.proofs,
        budget=_budget(book, situation),
        waived=situation.waived,
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
    if refused := objection("identity", situation.observation) if another(situation.observation) else None:
        return _refused_throughout(book, situation, refused)
    planned: list[PlannedStep] = []
    for number, entry in enumerate(book.entries, 1):
        planned.append(_in_silence(book, number, _planned(entry, situation), situation))
        if all_steps()[entry.step].ends_service:
            situation = replace(situation, service_ends_before=True)
    return tuple(planned)


def _refused_throughout(book: Playbook, situation: Situation, refused: Refused) -> tuple[PlannedStep, ...]:
    """Of another machine nothing is planned, step by step: why is said once."""
    steps = (all_steps()[entry.step] for entry in book.entries)
    return tuple(
        PlannedStep(
            step=step.name,
            title=step.name.replace("-", " "),
            host=situation.node_name,
            blocked="another machine answers" if number else refused.message,
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
    as_is = replace(planned, detail="", actions=(), blocked="", guard="", mend="", condition="", skip="")
    if is_out_of_reach(book, number, situation):
        return replace(as_is, skip=NO_SIGNAL)
    return replace(as_is, condition="once the node is back, by what is read there then")


def guards_of(step: Step, node: Node) -> tuple[str, ...]:
    """The guards that must hold for a step on this node, each once. Raises Refused for a kind of node not known."""
    guards = step.guards
    if step.acts_outside:
        platform = platform_of(node)
        guards = (*guards, *(platform.power_guards if step.powers else platform.guards))
    return tuple(dict.fromkeys(guards))


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
    guards = guards_of(step, situation.observation.node)
    reasons = (objection(name, situation.observation) for name in guards)
    return next((one for one in reasons if one), None)


def _touches(book: Playbook, situation: Situation) -> str:
    """The blast radius in words: the node, and its GPUs on the hypervisor where a step may go there."""
    node = situation.observation.node
    reaches_up = any(all_steps()[entry.step].acts_outside for entry in book.entries)
    gpus = f" and its {node.gpus} GPUs" if node.gpus else " and its GPUs"
    return f"{node.name}{gpus} on {node.hypervisor}" if reaches_up and node.hypervisor else node.name


def _spares(situation: Situation) -> tuple[str, ...]:
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
