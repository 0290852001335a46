"""Reads an inventory's files; all problems of all of them at once, before anything else happens."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetops.inventory import definitions as keys
from fleetops.inventory import sweep_definitions as sweep_keys
from fleetops.inventory.build import build_inventory
from fleetops.inventory.crosscheck import (
    Readings,
    cross_check,
    own_checks_check,
    policies_check,
    thresholds_check,
)
from fleetops.inventory.document import Entry, Mapping, read_document
from fleetops.inventory.find import FLEET_FILE, PROFILES_FILE, told_as_usage
from fleetops.inventory.problems import DocumentInvalid, Problems, did_you_mean
from fleetops.inventory.record import Field, Reading, Record
from fleetops.model.errors import UsageError
from fleetops.model.fleet import Inventory


class InventoryInvalid(DocumentInvalid):
    """The inventory has problems; all are in `problems`. Exit 2, and no host was contacted."""

    kind = "inventory-invalid"


@dataclass(frozen=True)
class Loaded:
    """An inventory together with the readings that it was built from, for whoever shows where a value comes from."""

    inventory: Inventory
    readings: Readings
    files: tuple[Path, ...]


def load_inventory(path: Path) -> Inventory:
    """The inventory in a folder, or in a file with `profiles.yaml` read beside it.

    Raises InventoryInvalid with every problem, UsageError where a file cannot be read.
    """
    return load_with_readings(path).inventory


def load_with_readings(path: Path) -> Loaded:
    """As `load_inventory`, keeping the readings."""
    problems = Problems()
    with told_as_usage(path):
        fleet_file, profiles_file = _files(path)
    fleet = _read(fleet_file, keys.FLEET_FILE, problems)
    profiles = _read(profiles_file, keys.PROFILES_FILE, problems) if profiles_file else None
    readings = _gather(fleet, profiles, problems)
    if fleet is not None:
        cross_check(readings, problems)
        thresholds_check(fleet.get(sweep_keys.THRESHOLDS_FIELD), readings, problems)
        own_checks_check(fleet.table(sweep_keys.CHECKS), readings, problems)
        policies_check(fleet.table(sweep_keys.POLICIES), readings, problems)
    problems.raise_if_any("the inventory", InventoryInvalid)
    assert fleet is not None  # noqa: S101 - without one there is a problem
    inventory = build_inventory(path, fleet_file.parent, readings, fleet)
    return Loaded(inventory, readings, (fleet_file, profiles_file) if profiles_file else (fleet_file,))


def _files(path: Path) -> tuple[Path, Path | None]:
    fleet_file = path / FLEET_FILE if path.is_dir() else path
    if not _is_file(fleet_file):
        others = [child.name for child in path.iterdir() if child.is_file()] if path.is_dir() else []
        hint = did_you_mean(FLEET_FILE, others).replace("did you mean", "it must be called fleet.yaml; is it")
        raise UsageError(f"there is no inventory at {fleet_file}", hint=hint)
    profiles_file = fleet_file.parent / PROFILES_FILE
    return fleet_file, profiles_file if profiles_file != fleet_file and _is_file(profiles_file) else None


def _is_file(path: Path) -> bool:
    """Whether there is a file. Raises UsageError where something else has its name."""
    if path.is_file():
        return True
    if path.is_dir():
        raise UsageError(f"{path} is a folder, where a file is expected")
    if path.exists():
        raise UsageError(f"{path} is neither a file nor a folder")
    if path.is_symlink():
        raise UsageError(f"{path} is a link that leads nowhere: to {path.readlink()}")
    return False


def _read(file: Path, definition: Record, problems: Problems) -> Reading | None:
    entry = read_document(file, problems)
    return definition.read(entry, problems) if entry is not None else None


def _gather(fleet: Reading | None, profiles: Reading | None, problems: Problems) -> Readings:
    found: dict[str, Reading] = {}
    for file in (fleet, profiles):
        for name, profile in (file.table(keys.PROFILES) if file else {}).items():
            if name in found:
                problems.add(
                    profile.entry.key_mark,
                    f"profile `{name}` is defined at {found[name].entry.key_mark} already",
                )
            found.setdefault(name, profile)
    groups = _entries(fleet, keys.GROUPS)
    return Readings(
        nodes=fleet.table(keys.NODES) if fleet else {},
        hypervisors=fleet.table(keys.HYPERVISORS) if fleet else {},
        profiles=found,
        groups=fleet.table(keys.GROUPS) if fleet else {},
        group_entries=groups,
        node_names=tuple(_entries(fleet, keys.NODES)),
        hypervisor_names=tuple(_entries(fleet, keys.HYPERVISORS)),
        profile_names=tuple(name for file in (fleet, profiles) for name in _entries(file, keys.PROFILES)),
    )


def _entries(reading: Reading | None, field: Field[Any]) -> dict[str, Entry]:
    """What stands under a key, readable or not."""
    top = reading.entry if reading else None
    below = top.entries.get(field.key) if isinstance(top, Mapping) else None
    return dict(below.entries) if isinstance(below, Mapping) else {}
