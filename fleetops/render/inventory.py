"""`fleetops inventory`: the fleet as its files describe it, without asking any host."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fleetops.model.fleet import Flag, Host, Inventory, Node, Profile
from fleetops.model.jsonable import jsonable
from fleetops.model.nodeset import fold_names
from fleetops.model.origin import Described, Setting
from fleetops.render.plain import safe

_GAP = 3
_SPARED = ("engine", "user", "GPUs")
"""Columns that a narrow terminal does without, the first ones first; `inventory show` has them."""
_WRAPPED = {"address", "guest", "guests", "patterns", "model", "nodes"}

_Block = tuple[Sequence[str], Sequence[Sequence[str]]]


def check_line(inventory: Inventory, files: Sequence[str]) -> str:
    """What was found to be in order."""
    counts = (
        (len(inventory.nodes), "node", "nodes"),
        (len(inventory.hypervisors), "hypervisor", "hypervisors"),
        (len(inventory.groups), "group", "groups"),
        (len(inventory.profiles), "profile", "profiles"),
    )
    words = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts)
    return safe(f"{' and '.join(files)}: {words}, no problem")


def check_json(inventory: Inventory, files: Sequence[str]) -> dict[str, Any]:
    """The same for a program; problems take the road of errors, on stderr."""
    return {
        "schema": "fleetops.inventory-check/1",
        "files": list(files),
        "nodes": len(inventory.nodes),
        "hypervisors": len(inventory.hypervisors),
        "groups": len(inventory.groups),
        "profiles": len(inventory.profiles),
        "problems": [],
    }


def list_screen(inventory: Inventory, hosts: Sequence[Host], *, everything: bool, width: int) -> Group:
    """The hosts as a table; with `everything`, the groups and profiles too. `width` is what there is, in columns."""
    nodes = [host for host in hosts if isinstance(host, Node)]
    others = [host for host in hosts if not isinstance(host, Node)]
    blocks: list[_Block] = [
        _host_table(
            ("node", "address", "user", "guest", "GPUs", "engine", "profile", "note"), map(_node_row, nodes)
        ),
        _host_table(
            ("hypervisor", "address", "user", "guests", "note"),
            (_hypervisor_row(host, inventory) for host in others),
        ),
    ]
    if everything:
        groups = [(f"@{name}", ", ".join(patterns)) for name, patterns in inventory.groups.items()]
        profiles = [_profile_row(profile, inventory) for profile in inventory.profiles.values()]
        blocks += [
            (("group", "patterns"), groups),
            (("profile", "engine", "model", "ranks", "port", "nodes"), profiles),
        ]
    tables = [_table(head, rows, width) for head, rows in blocks if rows]
    return Group(*[part for table in tables for part in (Text(), table)][1:])


def _node_row(node: Node) -> tuple[str, ...]:
    guest = f"{node.guest.kind} {node.guest.id} on {node.hypervisor}" if node.guest else "bare metal"
    gpus = "?" if node.gpus is None else str(node.gpus)
    return (node.name, _address(node), node.user, guest, gpus, node.engine, node.profile, _note(node))


def _hypervisor_row(host: Host, inventory: Inventory) -> tuple[str, ...]:
    guests = [node.name for node in inventory.nodes.values() if node.hypervisor == host.name]
    return (host.name, _address(host), host.user, fold_names(guests), _note(host))


def _profile_row(profile: Profile, inventory: Inventory) -> tuple[str, ...]:
    users = [node.name for node in inventory.nodes.values() if node.profile == profile.name]
    ranks, port = str(profile.ranks), str(profile.port)
    return (profile.name, profile.engine, profile.model, ranks, port, fold_names(users))


def _address(host: Host) -> str:
    return host.address + (f" port {host.port}" if host.port not in {None, 22} else "")


def _note(host: Host) -> str:
    return "protected" if host.protected else ""


def _host_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> _Block:
    """A last column of notes is left out where no row has one."""
    found = list(rows)
    return (head, found) if any(row[-1] for row in found) else (head[:-1], [row[:-1] for row in found])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    """Left-aligned columns under a dim headline; an empty cell shows a dash, an empty note nothing.

    Where `width` does not hold them, the columns in `_SPARED` go, and the rest wraps within its columns.
    """
    columns = list(zip(head, *rows, strict=True))
    cells = {
        name: [safe(cell) or ("" if name == "note" else "-") for cell in column] for name, *column in columns
    }
    for spared in _SPARED:
        if _width(cells) > width:
            cells.pop(spared, None)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for name in cells:
        table.add_column(name, no_wrap=name not in _WRAPPED, overflow="fold")
    for row in zip(*cells.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def _width(cells: Mapping[str, Sequence[str]]) -> int:
    return sum(max(map(cell_len, (name, *column))) + _GAP for name, column in cells.items()) - _GAP


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell) + _GAP) for cell, width in zip(cells, widths, strict=True))
    return "".join(padded).rstrip()


def list_json(inventory: Inventory, hosts: Sequence[Host]) -> dict[str, Any]:
    """The hosts, and all groups and profiles, for a program."""
    return {
        "schema": "fleetops.inventory-list/1",
        "path": str(inventory.path),
        "hosts": [
            {"kind": "node" if isinstance(host, Node) else "hypervisor", **jsonable(host)} for host in hosts
        ],
        "groups": {name: list(patterns) for name, patterns in inventory.groups.items()},
        "profiles": {name: _profile_json(profile) for name, profile in inventory.profiles.items()},
    }


def _profile_json(profile: Profile) -> dict[str, Any]:
    body: dict[str, Any] = jsonable(profile)
    return body | {"flags": {flag.name: _flag_json(flag) for flag in profile.flags}}


def _flag_json(flag: Flag) -> Any:
    named: dict[str, Any] = jsonable({flag.name: flag.value})
    stated = {"unit": flag.unit, "scope": flag.scope}
    value = named[flag.name]
    return {"value": value, **stated} if any(stated.values()) else value


def show_screen(described: Sequence[Described]) -> Text:
    """Each entry's values in one column and where they come from in the next."""
    return Text("\n\n").join(_described(entry) for entry in described)


def _described(entry: Described) -> Text:
    rows = [(f"  {safe(setting.key)}", _words(setting), setting.source) for setting in entry.settings]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(2)]
    block = (
        Text().append(safe(entry.name), style="bold").append(f"   {entry.kind}, {entry.source}", style="dim")
    )
    for row in rows:
        key_and_value = _columns(row[:2], widths)
        gap = " " * (sum(widths) + 2 * _GAP - cell_len(key_and_value))
        block.append(f"\n{key_and_value}{gap}").append(row[2], style="dim")
    return block


def _words(setting: Setting) -> str:
    value = setting.value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe(" ".join(map(str, value)) if isinstance(value, list) else str(value)) or '""'


def show_json(described: Sequence[Described]) -> dict[str, Any]:
    """The same for a program: `entries: [{kind, name, source, settings: [{key, value, source}]}]`."""
    return {"schema": "fleetops.inventory-show/1", "entries": [jsonable(entry) for entry in described]}


def example_words(folder: str, files: Sequence[str]) -> str:
    """What `inventory example` wrote, and what to do with it."""
    return safe(
        f"wrote {' and '.join(files)}\n\n"
        "Next:\n"
        "  fleet.yaml      replace the hosts by yours; a node needs only its address\n"
        "  profiles.yaml   replace the model and the flags by those of your service\n"
        f"  fleetops inventory check --inventory {shlex.quote(folder)}",
    )


def example_json(files: Sequence[str]) -> dict[str, Any]:
    """What `inventory example` wrote, for a program."""
    return {"schema": "fleetops.inventory-example/1", "files": list(files)}
