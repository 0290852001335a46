"""`fab probe`: what holds a node's memory, GPUs and port."""

from collections.abc import Sequence
from typing import Any

from fleetops.tasks.face import HOSTS_HELP, call, flag, hosts_of, task, where


@task(
    name="probe",
    iterable=["hosts"],
    help={
        "hosts": HOSTS_HELP,
        "fast": "RSS instead of PSS: cheaper for a node with very many processes",
    },
)
def probe(
    connection: Any,
    *,
    hosts: Sequence[str] | None = None,
    fast: bool = False,
    inventory: str = "",
    lab: bool = False,
    json: bool = False,
) -> None:
    """Show what holds a node's memory, GPUs and port, and what to do about it."""
    options = [*where(inventory=inventory, lab=lab, json=json), *flag("fast", fast)]
    call("probe", options, *hosts_of(connection, hosts))
