"""Readings without problems -> the frozen objects of model.fleet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fleetops.inventory import definitions as keys
from fleetops.inventory import sweep_definitions as sweep_keys
from fleetops.inventory.crosscheck import Readings
from fleetops.inventory.flags import FlagReading, flag_name
from fleetops.inventory.record import Field, Reading
from fleetops.model.fleet import (
    Flag,
    Guest,
    GuestKind,
    HostMemory,
    Hypervisor,
    Inventory,
    Node,
    Profile,
    Settings,
)
from fleetops.model.own_check import Line, OwnCheck, ReadAs
from fleetops.model.policy import ALL_DAY, Hours, Policy
from fleetops.model.thresholds import ThresholdRules


def build_inventory(path: Path, folder: Path, readings: Readings, fleet: Reading) -> Inventory:
    """The inventory; only for readings in which no problem was found. Relative settings start at `folder`."""
    return Inventory(
        path=path,
        nodes={name: build_node(name, reading) for name, reading in readings.nodes.items()},
        hypervisors={
            name: Hypervisor(**_host(name, reading)) for name, reading in readings.hypervisors.items()
        },
        groups=dict(readings.groups),
        profiles={name: build_profile(name, reading) for name, reading in readings.profiles.items()},
        settings=build_settings(fleet.get(keys.SETTINGS_FIELD), folder),
        thresholds=build_thresholds(fleet.get(sweep_keys.THRESHOLDS_FIELD)),
        checks=build_checks(fleet.table(sweep_keys.CHECKS)),
        policies=build_policies(fleet.table(sweep_keys.POLICIES)),
    )


def build_checks(checks: Mapping[str, Reading]) -> dict[str, OwnCheck]:
    """The operator's own checks."""
    return {
        name: OwnCheck(
            name=name,
            command=one.need(sweep_keys.CHECK_COMMAND),
            hosts=one.get(sweep_keys.CHECK_HOSTS) or (),
            root=one.need(sweep_keys.CHECK_ROOT),
            deadline_s=one.need(sweep_keys.CHECK_DEADLINE),
            read=cast("ReadAs", one.need(sweep_keys.CHECK_READ)),
            pattern=one.get(sweep_keys.CHECK_PATTERN) or "",
            warning=_line(one.get(sweep_keys.CHECK_WARNING)),
            critical=_line(one.get(sweep_keys.CHECK_CRITICAL)),
            severity=cast("Any", one.need(sweep_keys.CHECK_SEVERITY)),
            says=one.get(sweep_keys.CHECK_SAYS) or "",
            next=one.get(sweep_keys.CHECK_NEXT) or "",
        )
        for name, one in checks.items()
    }


def _line(reading: Reading | None) -> Line:
    return (
        Line(above=reading.get(sweep_keys.ABOVE), below=reading.get(sweep_keys.BELOW)) if reading else Line()
    )


def build_policies(policies: Mapping[str, Reading]) -> dict[str, Policy]:
    """What sweeps may recover by themselves."""
    return {
        name: Policy(
            name=name,
            findings=one.need(sweep_keys.POLICY_FINDINGS),
            nodes=one.need(sweep_keys.POLICY_NODES),
            rung=one.need(sweep_keys.POLICY_RUNG),
            hours=_hours(one.get(sweep_keys.POLICY_HOURS)),
        )
        for name, one in policies.items()
    }


def _hours(text: str | None) -> Hours:
    if text is None:
        return ALL_DAY
    begin, end = ((int(clock[:2]) * 60 + int(clock[3:])) for clock in text.split("-"))
    return Hours(begin_min=begin, end_min=end)


def build_thresholds(reading: Reading | None) -> ThresholdRules:
    """What the inventory says over the shipped ones."""
    if reading is None:
        return ThresholdRules()
    of_all = reading.get(sweep_keys.FOR_ALL)
    return ThresholdRules(
        all=dict(of_all.values) if of_all else {},
        gpu_models={word: dict(one.values) for word, one in reading.table(sweep_keys.BY_GPU).items()},
        groups={name: dict(one.values) for name, one in reading.table(sweep_keys.BY_GROUP).items()},
    )


def _host(name: str, reading: Reading) -> dict[str, Any]:
    return {
        "name": name,
        "address": reading.need(keys.ADDRESS),
        "user": reading.get(keys.USER) or "",
        "port": reading.get(keys.PORT),
        "labels": reading.table(keys.LABELS),
        "machine_id": (reading.get(keys.MACHINE_ID) or "").lower(),
        "protected": reading.need(keys.PROTECTED),
    }


def build_node(name: str, reading: Reading) -> Node:
    """One node."""
    guest = reading.get(keys.GUEST_FIELD)
    return Node(
        **_host(name, reading),
        hypervisor=reading.get(keys.HYPERVISOR_NAME) or "",
        guest=_guest(guest) if guest else None,
        gpus=reading.get(keys.GPUS),
        engine=reading.need(keys.ENGINE),
        source=reading.get(keys.SOURCE) or "",
        profile=reading.get(keys.PROFILE_NAME) or "",
    )


def _guest(reading: Reading) -> Guest:
    return Guest(kind=cast("GuestKind", reading.need(keys.GUEST_KIND)), id=reading.need(keys.GUEST_ID))


def build_profile(name: str, reading: Reading) -> Profile:
    """One launch profile."""
    memory = reading.get(keys.HOST_MEMORY_FIELD)
    return Profile(
        name=name,
        engine=reading.need(keys.PROFILE_ENGINE),
        model=reading.need(keys.MODEL),
        ranks=reading.need(keys.RANKS),
        port=reading.need(keys.SERVICE_PORT),
        command=reading.need(keys.COMMAND),
        environment=reading.table(keys.ENVIRONMENT),
        flags=_flags(reading.table(keys.FLAGS)),
        host_memory=_host_memory(memory) if memory else HostMemory(),
        ready_deadline_s=reading.need(keys.READY_DEADLINE),
        watch_s=reading.need(keys.WATCH),
    )


def _flags(flags: Mapping[str, FlagReading]) -> tuple[Flag, ...]:
    return tuple(
        Flag(name=flag_name(key), value=flag.value, unit=flag.unit, scope=flag.scope)
        for key, flag in flags.items()
    )


def _host_memory(reading: Reading) -> HostMemory:
    return HostMemory(reserve_bytes=reading.need(keys.RESERVE), floor_bytes=reading.need(keys.FLOOR))


def build_settings(reading: Reading | None, folder: Path) -> Settings:
    """The settings with absolute paths."""

    def located(field: Field[str]) -> Path | None:
        text = reading.get(field) if reading else None
        return folder / Path(text).expanduser() if text else None

    return Settings(
        ssh_config=located(keys.SSH_CONFIG),
        known_hosts=located(keys.KNOWN_HOSTS),
        state=located(keys.STATE),
        breaker=reading.need(keys.BREAKER) if reading else Settings().breaker,
    )
