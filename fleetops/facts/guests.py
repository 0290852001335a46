"""All guests of the cluster, from /cluster/resources.

The list is refreshed by pvestatd about every ten seconds and is stale right after a change: `guest` tells how one
guest is at this moment. `lock` and `hastate` come only where there are any; numbers may come as text.
"""

from collections.abc import Mapping
from typing import Any

from fleetops.facts.proxmox import rows
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact
from fleetops.model.guest import GUESTS, GuestEntry

KINDS = {"lxc": "lxc", "qemu": "vm"}
"""Proxmox's type -> this project's guest kind."""


def parse(outcome: Outcome) -> tuple[GuestEntry, ...]:
    """By id. Raises Absent where there is no pvesh: not a Proxmox host."""
    entries = [_entry(row) for row in rows(outcome) if row.get("type") in KINDS]
    return tuple(sorted(entries, key=lambda entry: entry.id))


def _entry(row: Mapping[str, Any]) -> GuestEntry:
    return GuestEntry(
        kind=KINDS[row["type"]],
        id=int(row["vmid"]),
        name=str(row.get("name") or ""),
        status=str(row.get("status") or "unknown"),
        node=str(row.get("node") or ""),
        lock=str(row.get("lock") or ""),
        ha_state=str(row.get("hastate") or ""),
        memory_bytes=int(row["maxmem"]) if row.get("maxmem") else None,
    )


FACT: Fact[tuple[GuestEntry, ...]] = Fact(
    GUESTS,
    Command(
        argv=("pvesh", "get", "/cluster/resources", "--type", "vm", "--output-format", "json"),
        deadline_s=20.0,
        root=True,
    ),
    parse,
)
