"""What a plan rests on: the operator's waivers, and each flag's way from its declaration to the allocation."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from fleetops.model.plan import Plan
from fleetops.model.proof import Explanation
from fleetops.render.explain import Where, explain_screen, explanation_json
from fleetops.render.output import Output
from fleetops.render.plain import safe


def show_waived(output: Output, waived: Mapping[str, str]) -> None:
    """Each guard that was overruled, with the reason given."""
    for guard, reason in waived.items():
        output.show(Text.assemble(("  waived ", "yellow"), safe(f"{guard}: {reason}")))


def show_proofs(output: Output, plan: Plan) -> None:
    """Every flag that the launch rests on, as `explain` shows it."""
    where = Where(title=plan.engine, place=f"on {plan.node}")
    width = output.width if output.is_terminal else None
    for proof in plan.proofs.values():
        output.show("")
        output.show(explain_screen(proof, where, width))


def proofs_json(proofs: Mapping[str, Explanation]) -> dict[str, Any]:
    """Flag -> what the source shows of it, as `fleetops.explain/1`."""
    return {flag: explanation_json(proof) for flag, proof in proofs.items()}
