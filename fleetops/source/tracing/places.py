"""The lines that show what a flag means, in order: from its declaration to the allocation, and where the process begins."""

from collections.abc import Sequence

from fleetops.model.proof import Place
from fleetops.source.tracing.amounts import Amount, Step
from fleetops.source.tracing.declared import Declaration
from fleetops.source.tracing.reach import Way
from fleetops.source.tracing.texts import line_text
from fleetops.source.tree import Tree


def proof_of(
    amount: Amount | None, way: Way | None, declared: Sequence[Declaration], tree: Tree
) -> tuple[Place, ...]:
    """The amount's own way (or the declaration alone), and the outermost place on the way to what allocates it."""
    steps = [Step(one.module, one.line, one.text, "declaration") for one in declared[:1]]
    if amount:
        steps = list(amount.trail)
    if way and way.places:
        outermost = way.places[0]
        text = line_text(outermost.module, outermost.line)
        steps.append(Step(outermost.module, outermost.line, text, "scope", f"in {way.begins}"))
    return tuple(_place(one, tree) for one in steps)


def _place(step: Step, tree: Tree) -> Place:
    return Place(
        file=step.module.file,
        line=step.line,
        text=step.text,
        role=step.role,
        note=step.note,
        sha256=tree.sha256(step.module.file),
    )
