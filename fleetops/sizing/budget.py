"""Does a launch fit? Ranks x flag x pools, sidecars, the reserve for loading and the floor, against what is free."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import AUTO, Flag, FlagValue, Profile
from fleetops.model.guest import ARC
from fleetops.model.machine import CGROUP, MEMORY
from fleetops.model.sizing import STATED, Budget, FlagSize, Line, Meaning, Room, Verdict, stated
from fleetops.model.units import show_gb

__all__ = ["Budget", "FlagSize", "Line", "Meaning", "Room", "Rooms", "Verdict", "budget", "rooms", "stated"]


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """What bounds a launch on a node. `unknown` says which bound could not be read."""

    rooms: tuple[Room, ...]
    unknown: tuple[str, ...] = ()


def rooms(observation: Observation, *, idle: bool = False) -> Rooms:
    """Every bound on the node's memory: its own MemAvailable, its cgroup, and for a container its hypervisor.

    A VM's memory is its own. `idle` asks what there will be once the service is gone: what the node has less than
    its idle baseline is added to every bound, as all of it comes back to each.
    """
    found: list[Room] = []
    unknown: list[str] = []
    node = observation.node
    memory = observation.node_facts.get(MEMORY)
    returning = 0
    if isinstance(memory, Missing):
        unknown.append(f"MemAvailable of {node.name} ({memory})")
    else:
        if idle and observation.baseline:
            returning = max(0, observation.baseline.available_bytes - memory.available_bytes)
        label = f"MemAvailable of {node.name}" + (" when idle" if idle else "")
        found.append(Room(label=label, size_bytes=memory.available_bytes + returning))
    cgroup = observation.node_facts.get(CGROUP)
    if isinstance(cgroup, Missing):
        unknown.append(f"the cgroup limit of {node.name} ({cgroup})")
    elif cgroup.room_bytes is not None:
        found.append(
            Room(
                label=f"room in the cgroup of {node.name}",
                size_bytes=min(cgroup.room_bytes + returning, cgroup.limit_bytes or 0),
            )
        )
    if node.guest and node.guest.kind == "lxc":
        beside = _hypervisor_room(node.hypervisor, observation.hypervisor_facts, returning)
        found += beside.rooms
        unknown += beside.unknown
    return Rooms(rooms=tuple(found), unknown=tuple(unknown))


def _hypervisor_room(name: str, facts: Facts | None, returning: int) -> Rooms:
    """A container's pages are its hypervisor's; ZFS's cache there counts as used, and comes back when memory is asked for."""
    if facts is None:
        return Rooms(rooms=(), unknown=(f"MemAvailable of {name or 'the hypervisor'} (not asked)",))
    memory = facts.get(MEMORY)
    if isinstance(memory, Missing):
        return Rooms(rooms=(), unknown=(f"MemAvailable of {name} ({memory})",))
    cache = facts.value(ARC)
    cache_bytes = cache.returnable_bytes if cache else 0
    label = f"MemAvailable of {name}" + (f" and {show_gb(cache_bytes)} of ZFS's cache" if cache_bytes else "")
    return Rooms(rooms=(Room(label=label, size_bytes=memory.available_bytes + returning + cache_bytes),))


def budget(
    profile: Profile,
    found: Rooms,
    *,
    flags: Iterable[Flag],
    meanings: Mapping[str, Meaning] | None = None,
    ranks: int | None = None,
) -> Budget:
    """The arithmetic of launching `profile` into `found`.

    Args:
        profile: what shall be launched.
        found: what bounds it.
        flags: those that take host memory, as the engine names them (`Engine.host_memory_flags`).
        meanings: flag name -> what its number means; what is not in it counts as the profile states.
        ranks: on this node; the profile's by default.
    """
    known, ranks = meanings or {}, ranks or profile.ranks
    fixed = (
        Line(label="reserve for loading", size_bytes=profile.host_memory.reserve_bytes),
        Line(label="floor, left free", size_bytes=profile.host_memory.floor_bytes),
    )
    sizes = tuple(_asked(flag, known.get(flag.name) or stated(flag), ranks) for flag in flags)
    draft = Budget(ranks=ranks, sizes=sizes, lines=fixed, rooms=found.rooms)
    fitted = tuple(_fitted(size, draft) for size in sizes)
    unknown = (
        *(f"{text} is not known" for text in found.unknown),
        *(text for size in fitted if (text := _gap(size, fitted))),
    )
    return replace(draft, sizes=fitted, unknown=unknown)


def _asked(flag: Flag, meaning: Meaning, ranks: int) -> FlagSize:
    """The flag as the profile has it; whether anything fits comes later."""
    value = _number(flag.value)
    copies = meaning.copies(ranks)
    per_unit = meaning.bytes_per_unit if meaning.scope else None
    total = None if value is None or per_unit is None else math.ceil(value * per_unit * copies)
    return FlagSize(
        name=flag.name,
        asked=flag.value,
        value=value,
        meaning=meaning,
        copies=copies,
        total_bytes=total,
        fits=None,
    )


def _number(value: FlagValue) -> int | float | None:
    """The flag's number; None for `auto` and for what is none."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if not math.isfinite(number) or number < 0:
        return None
    return int(number) if number.is_integer() else number


def _fitted(size: FlagSize, draft: Budget) -> FlagSize:
    """With the largest whole number that fits beside all else; an `auto` takes it."""
    per_unit = size.meaning.bytes_per_unit
    others_known = all(one.total_bytes is not None for one in draft.sizes if one is not size)
    if per_unit is None or size.meaning.scope is None or draft.left_bytes is None or not others_known:
        return size
    taken = (size.total_bytes or 0) + sum(line.size_bytes for line in size.beside)
    beside = sum((pool.share or 0 for pool in size.meaning.beside), Fraction(0)) / size.meaning.pools
    fits = max(0, int((draft.left_bytes + taken) // (per_unit * size.copies * (1 + beside))))
    if size.asked != AUTO:
        return replace(size, fits=fits)
    # Where fleetops chooses the number, what has been seen in the field fits as well.
    chosen = int(fits // size.meaning.seen.times) if size.meaning.seen else fits
    return replace(size, fits=fits, value=chosen or None, total_bytes=chosen * per_unit * size.copies)


def _gap(size: FlagSize, all_sizes: tuple[FlagSize, ...]) -> str:
    """Why this flag's part cannot be computed; "" where it can."""
    if size.total_bytes is not None:
        unsized = [pool.label for pool in size.meaning.beside if pool.share is None]
        return f"how large the {' and the '.join(unsized)} becomes is not known" if unsized else ""
    if size.meaning.unit is None or size.meaning.scope is None:
        if size.meaning.why not in {"", STATED}:
            return f"what {size.name} means is not proven: {size.meaning.why}"
        return f"neither profile nor source says what {size.name} counts: unit and scope are wanted"
    if size.meaning.bytes_per_unit is None:
        return (
            f"{size.name} counts in {size.meaning.unit}, whose size in bytes is not known before the launch"
        )
    if size.asked == AUTO:
        autos = sum(one.asked == AUTO for one in all_sizes)
        return (
            f"{size.name} is auto, as is another flag: one of them must be a number"
            if autos > 1
            else (f"{size.name} is auto, and what is free for it is not known")
        )
    return f"{size.name} is {size.asked!r}, which is no size"
