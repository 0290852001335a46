"""Where each value of a host or profile comes from: a place in a file, a default, or left to something else."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fleetops.inventory import definitions as keys
from fleetops.inventory.document import Mapping
from fleetops.inventory.flags import FlagReading
from fleetops.inventory.load import Loaded
from fleetops.inventory.patterns import PatternError, select_hosts, select_names
from fleetops.inventory.problems import Mark
from fleetops.inventory.record import Field, Reading, Record
from fleetops.model.errors import UsageError
from fleetops.model.nodeset import fold_names
from fleetops.model.origin import Described, Setting
from fleetops.model.secrets import MASK, looks_secret


def describe(loaded: Loaded, patterns: Sequence[str]) -> tuple[Described, ...]:
    """The hosts and profiles that are meant; everything where there are no patterns.

    A pattern that is a profile's name means the profile, and a host of that name too. Raises UsageError where one
    matches nothing.
    """
    inventory = loaded.inventory
    profiles = [name for name in inventory.profiles if not patterns or name in patterns]
    rest = [text for text in patterns if text not in inventory.profiles or _is_host(loaded, text)]
    if patterns and not rest:
        return tuple(_profile(loaded, name) for name in profiles)
    try:
        hosts = select_hosts(inventory, rest, of="all")
    except UsageError as error:
        raise UsageError(f"{error.message}, and no profile either", hint=error.hint) from error
    described = [_host(loaded, host.name) for host in hosts]
    return (*described, *(_profile(loaded, name) for name in profiles))


def _is_host(loaded: Loaded, name: str) -> bool:
    return name in loaded.inventory.nodes or name in loaded.inventory.hypervisors


def _host(loaded: Loaded, name: str) -> Described:
    is_node = name in loaded.readings.nodes
    reading = (loaded.readings.nodes if is_node else loaded.readings.hypervisors)[name]
    settings = list(_settings(keys.NODE if is_node else keys.HYPERVISOR, reading))
    if groups := list(_groups_of(loaded, name)):
        settings.append(Setting(key="in groups", value=", ".join(groups), source="their patterns"))
    return Described(
        kind="node" if is_node else "hypervisor",
        name=name,
        source=_place(reading.entry.key_mark),
        settings=tuple(settings),
    )


def _profile(loaded: Loaded, name: str) -> Described:
    reading = loaded.readings.profiles[name]
    settings = list(_settings(keys.PROFILE, reading))
    users = [node.name for node in loaded.inventory.nodes.values() if node.profile == name]
    settings.append(Setting(key="used by", value=fold_names(users) or None, source="nodes that name it"))
    return Described(
        kind="profile", name=name, source=_place(reading.entry.key_mark), settings=tuple(settings)
    )


def _groups_of(loaded: Loaded, name: str) -> Iterator[str]:
    names = (*loaded.inventory.nodes, *loaded.inventory.hypervisors)
    for group, patterns in loaded.inventory.groups.items():
        try:
            members = select_names(patterns, names, loaded.inventory.groups)
        except PatternError:  # cannot be: the loader has resolved every group
            continue
        if name in members:
            yield f"@{group}"


def _place(mark: Mark) -> str:
    return f"{Path(mark.file).name}:{mark.line}:{mark.column}"


def _settings(record: Record, reading: Reading, prefix: str = "") -> Iterator[Setting]:
    for field in record.fields:
        yield from _setting(field, reading, prefix)


def _setting(field: Field[Any], reading: Reading, prefix: str) -> Iterator[Setting]:
    key = prefix + field.key
    if not reading.has(field):
        yield from _left_out(field, key)
        return
    value = reading.get(field)
    if isinstance(field.kind, Record) and isinstance(value, Reading):
        yield from _settings(field.kind, value, f"{key}.")
    elif isinstance(value, dict):
        yield from _free_keys(value, reading, field, key)
    else:
        yield Setting(key=key, value=_written(field, value), source=_place(reading.mark(field)))


def _left_out(field: Field[Any], key: str) -> Iterable[Setting]:
    if field.otherwise:
        return [Setting(key=key, value=None, source=field.otherwise)]
    if isinstance(field.kind, Record):
        nothing = Reading(Mapping(mark=Mark(""), path=key, key_mark=Mark("")))
        return list(_settings(field.kind, nothing, f"{key}."))
    return (
        [Setting(key=key, value=_written(field, field.default), source="default")]
        if field.default is not None
        else []
    )


def _written(field: Field[Any], value: Any) -> Any:
    value = field.kind.written(value)
    return list(value) if isinstance(value, tuple) else value


def _free_keys(values: dict[str, Any], reading: Reading, field: Field[Any], key: str) -> Iterator[Setting]:
    """Labels, variables, flags: one setting for each key that the user chose."""
    below = reading.entry.entries[field.key] if isinstance(reading.entry, Mapping) else None
    for name, value in values.items():
        mark = below.entries[name].mark if isinstance(below, Mapping) else reading.mark(field)
        shown = MASK if looks_secret(name) else _flag(value)
        yield Setting(key=f"{key}.{name}", value=shown, source=_place(mark))


def _flag(value: Any) -> Any:
    """A flag with its unit and scope in one line (`48 GB per-rank`); anything else as it is."""
    if not isinstance(value, FlagReading):
        return value
    meaning = [word for word in (value.unit, value.scope) if word]
    return " ".join([str(value.value), *meaning]) if meaning else value.value
