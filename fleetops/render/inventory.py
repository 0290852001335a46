"""`fleetops inventory`: the fleet as its files describe it, without asking any host."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from fleetops.model.fleet import Flag, Host, Inventory, Node, Profile
from fleetops.model.jsonable import jsonable
from fleetops.model.nodeset import fold_names
from fleetops.model.origin import Described, Setting
from fleetops.render.plain import safe

SCHEMA = "fleetops.inventory/1"

_GAP = 3


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
        "schema": SCHEMA,
        "files": list(files),
        "nodes": len(inventory.nodes),
        "hypervisors": len(inventory.hypervisors),
        "groups": len(inventory.groups),
        "profiles": len(inventory.profiles),
        "problems": [],
    }


def list_screen(inventory: Inventory, hosts: Sequence[Host], *, everything: bool) -> Text:
    """The hosts as a table; with `everything`, the groups and profiles too."""
    nodes = [host for host in hosts if isinstance(host, Node)]
    others = [host for host in hosts if not isinstance(host, Node)]
    blocks = [
        _table(
            ("node", "address", "user", "guest", "GPUs", "engine", "profile", "note"), map(_node_row, nodes)
        ),
        _table(
            ("hypervisor", "address", "user", "guests", "note"),
            (_hypervisor_row(host, inventory) for host in others),
        ),
    ]
    if everything:
        groups = [(f"@{name}", ", ".join(patterns)) for name, patterns in inventory.groups.items()]
        profiles = [_profile_row(profile, inventory) for profile in inventory.profiles.values()]
        blocks += [
            _table(("group", "patterns"), groups),
            _table(("profile", "engine", "model", "ranks", "port", "nodes"), profiles),
        ]
    return Text("\n\n").join(block for block in blocks if block)


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


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Text:
    """Left-aligned columns under a dim headline; nothing where there are no rows. An empty cell shows a dash.

    A last column of notes is left out where no row has one, and its empty cells stay empty.
    """
    cells = [[safe(cell) or "-" for cell in row] for row in rows]
    if not cells:
        return Text()
    if head[-1] == "note":
        notes = [row.pop().replace("-", "") for row in cells]
        if any(notes):
            cells = [[*row, note] for row, note in zip(cells, notes, strict=True)]
        else:
            head = head[:-1]
    widths = [max(map(cell_len, column)) for column in zip(head, *cells, strict=True)]
    lines = [Text(_columns(head, widths), style="dim"), *(Text(_columns(row, widths)) for row in cells)]
    return Text("\n").join(lines)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell) + _GAP) for cell, width in zip(cells, widths, strict=True))
    return "".join(padded).rstrip()


def list_json(inventory: Inventory, hosts: Sequence[Host]) -> dict[str, Any]:
    """The hosts, and all groups and profiles, for a program."""
    return {
        "schema": SCHEMA,
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
    return {"schema": SCHEMA, "entries": [jsonable(entry) for entry in described]}
