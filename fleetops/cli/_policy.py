"""What `sweep --recover POLICY` does after a sweep: at most one node, as `recover --yes` would, no further than the policy says."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli._operate import operate
from fleetops.cli.world import World
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.model.fleet import Inventory
    from fleetops.model.policy import Policy
    from fleetops.model.sweep import Sweep
    from fleetops.render.output import Output


def policy_named(inventory: "Inventory", name: str) -> "Policy":
    """The policy of that name. Raises UsageError for one that there is not, or that names a check that there is not."""
    from fleetops.checks import all_checks
    from fleetops.inventory.problems import did_you_mean

    if name not in inventory.policies:
        hint = did_you_mean(name, inventory.policies) or "docs/sweep.md shows how one is written"
        raise UsageError(f"there is no policy {name!r} in {inventory.path}", hint=hint)
    policy, checks = inventory.policies[name], [one.name for one in all_checks()]
    for finding in policy.findings:
        if finding not in checks:
            raise UsageError(
                f"policy {name} names {finding}, and there is no such check",
                hint=did_you_mean(finding, checks),
            )
    return policy


def act(
    sweep: "Sweep", policy: "Policy", world: World, inventory: "Inventory", output: "Output"
) -> Exit | None:
    """Recover the first node that is due; None where none is. What refuses it is told, and is no end of the sweeps."""
    from fleetops.fleet.due import due
    from fleetops.playbook.load import shipped_playbook, without_relaunch
    from fleetops.playbook.parts import up_to_rung

    nodes = due(sweep, policy, inventory)
    if not nodes:
        return None
    first, waiting = nodes[0], len(nodes) - 1
    more = f"; {waiting} more wait for the next sweep" if waiting else ""
    reason = f"policy {policy.name}: {first.because.subject} on {first.node}"
    output.note(f"{reason}, recovering it{more}")
    node = inventory.nodes[first.node]
    profile = inventory.profiles.get(node.profile)
    book = up_to_rung(shipped_playbook("recover"), policy.rung, reason)
    if profile is None:
        book = without_relaunch(book)
    agreed = _agreed(output.wants_json)
    try:
        return operate(agreed, world, inventory, node=node, book=book, profile=profile)
    except FleetopsError as error:
        output.note(
            f"{first.node} is not recovered: {error.message}" + (f" ({error.hint})" if error.hint else "")
        )
        return error.exit_code


def _agreed(wants_json: bool) -> argparse.Namespace:
    """As if `recover NODE --yes` had been typed: nothing is waived."""
    return argparse.Namespace(
        command="recover", json=wants_json, dry_run=False, scripts=False, yes=True, waive=[]
    )
