"""`fab reset-gpus`: reset a node's GPUs where their driver lives."""

from collections.abc import Sequence
from typing import Any

from fleetops.tasks.face import CHANGING_HELP, call, changing, task, where


@task(
    name="reset-gpus",
    iterable=["waive"],
    help={"node": "the node, as in the inventory", **CHANGING_HELP},
)
def reset_gpus(
    connection: Any,
    node: str,
    *,
    yes: bool = False,
    dry_run: bool = False,
    scripts: bool = False,
    waive: Sequence[str] | None = None,
    inventory: str = "",
    lab: bool = False,
    json: bool = False,
) -> None:
    """Reset a node's GPUs where their driver lives; shows its plan and asks first."""
    options = [
        *where(inventory=inventory, lab=lab, json=json),
        *changing(connection, yes=yes, dry_run=dry_run, scripts=scripts, waive=waive),
    ]
    call("reset-gpus", options, node)
