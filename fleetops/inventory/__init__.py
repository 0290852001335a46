"""YAML -> frozen objects, every problem with file:line:column.

Which file holds what:

    problems     what is wrong, all of it, with places
    document     the generic YAML reader: entries with positions (playbooks use it too)
    quantity     `40 GB`, `16GiB`, `1h30m`
    kinds        what one value may be: text, numbers, quantities; each also as JSON Schema
    containers   lists, and mappings with free keys
    record       what a mapping with known keys may hold, read key by key
    definitions  the inventory's own keys, said once for loader, schema and reference
    flags        a profile's flags
    crosscheck   what must agree between the entries
    build, load  readings -> model.fleet.Inventory
    find         where the inventory lies
    patterns     `node-[170-179]`, `*`, `@rack-a`, `!node-171` -> hosts
    origin       where each value comes from
    schema       the JSON Schema;  reference  the tables of docs/inventory.md

The names that other layers use are here too; they are imported when first asked for, since YAML is slow to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleetops.inventory.find import find_inventory
    from fleetops.inventory.load import InventoryInvalid, load_inventory
    from fleetops.inventory.patterns import select_hosts
    from fleetops.inventory.problems import DocumentInvalid, Problem, Problems

__all__ = [
    "DocumentInvalid",
    "InventoryInvalid",
    "Problem",
    "Problems",
    "find_inventory",
    "load_inventory",
    "select_hosts",
]

_HOMES = {
    "DocumentInvalid": "problems",
    "InventoryInvalid": "load",
    "Problem": "problems",
    "Problems": "problems",
    "find_inventory": "find",
    "load_inventory": "load",
    "select_hosts": "patterns",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
