"""Whose the amount is: each rank's, a node's, or all ranks' together; and why."""

import re
from dataclasses import dataclass

from fleetops.model.proof import Scope
from fleetops.source.tracing.machine import Met
from fleetops.source.tracing.reach import Reach, Way
from fleetops.source.tracing.units import unit_of

_ALL_RANKS = re.compile(r"(^|_)(tp|tensor|world|attn_tp|kv_ranks|ranks|workers|gpu_ids)|tensor|world_size")
_PER_NODE = re.compile(r"_per_(node|host)$|^local_|local_world_size")


@dataclass(frozen=True)
class Owned:
    """Who owns what one allocation takes: the scope, why (or why it is not known), and the way from where a process begins."""

    scope: Scope
    why: str
    way: Way | None = None


def scope_of(one: Met, reach: Reach) -> Owned:
    """By what it has been divided by, and by where it is built."""
    parallel, loops = one.amount.parallel, set(one.loops)
    site = one.amount.site
    if site and unit_of(one.amount, one.step.text)[0] in {"ratio", "fraction"}:
        loops = set()
        parallel = site.parallel  # a share of what the rank has, however that is used later
    if one.amount.ranks:
        return Owned("unknown", f"{one.amount.ranks}: only some ranks are given it")
    if loops & set(site.loops if site else ()):
        return Owned("unknown", f"{one.at}: it is allocated in a loop, and how often is not known")
    multiplied = [name for name, power in parallel if power > 0]
    if multiplied:
        return Owned("unknown", f"{one.at}: it has been multiplied by {multiplied[0]}")
    ways = _ways(one, reach)
    way = next((way for way in ways if way.per_rank and not way.restricted), ways[0] if ways else None)
    if any(power < 0 for _, power in parallel):
        return _divided(one, parallel, way)
    return _restricted(one, ways, way) or _built(one, ways, way)


def _ways(one: Met, reach: Reach) -> list[Way]:
    """The ways to what allocates, the sure ones, where there are any.

    Where none is found: those to where the number became an amount inside a rank's process. What a configuration of
    the whole server holds says nothing of where, and how often, memory is taken for it.
    """
    site = one.amount.site
    ways = reach.ways(one.root) if one.root else []
    if not ways and site and site.root:
        ways = [way for way in reach.ways(site.root) if way.per_rank]
    return [way for way in ways if way.sure] or ways


def _divided(one: Met, parallel: tuple[tuple[str, int], ...], way: Way | None) -> Owned:
    """It has been divided by parallel sizes: those who are counted by them share it."""
    sizes = [name for name, power in parallel if power < 0]
    said = " and ".join(sizes)
    if any(power < -1 for _, power in parallel):
        return Owned("unknown", f"{one.at}: it is divided by {sizes[0]} more than once", way)
    if all(_PER_NODE.search(name) for name in sizes):
        return Owned("per-node", f"it is divided by {said}, so that the ranks of a node share it", way)
    if not any(_ALL_RANKS.search(name) for name in sizes):
        why = f"{one.at}: it is divided by {sizes[0]} only, which does not count all ranks"
        return Owned("unknown", why, way)
    return Owned("total", f"it is divided by {said} on the way, so that the ranks share it", way)


def _restricted(one: Met, ways: list[Way], way: Way | None) -> Owned | None:
    """Not every rank builds it, or others than the ranks do, or nobody knows how often; None where nothing is odd."""
    site = one.amount.site
    guard = next((guard for guard in site.guards + one.guards if guard.ranks), None) if site else None
    if guard:
        where = f"{guard.module.file}:{guard.test.lineno}"
        return Owned("unknown", f"{where}: only some ranks allocate it ({guard.said})", way)
    place = next((each.restricted for each in ways if each.restricted), None)
    if place:
        return Owned("unknown", f"{place.module.file}:{place.ranks}: only some ranks get there", way)
    inside = any(each.per_rank for each in ways)
    place = next((each.starts for each in ways if each.starts), None)
    if place and not inside:
        why = "it runs in a process that is started there, and how many there are is not known"
        return Owned("unknown", f"{place.at}: {why}", way)
    elsewhere = next((each for each in ways if not each.per_rank and each.sure), None)
    if elsewhere and any(each.per_rank and each.sure for each in ways):
        where = elsewhere.places[0].at if elsewhere.places else elsewhere.begins
        why = f"{where}: it is allocated outside the ranks' processes as well ({elsewhere.begins})"
        return Owned("unknown", why, way)
    return None


def _built(one: Met, ways: list[Way], way: Way | None) -> Owned:
    """Once in each rank's process, or once per server."""
    if way and any(each.per_rank for each in ways):
        where = f" ({way.places[0].at})" if way.places else ""
        why = f"built inside each rank's process, from {way.begins}{where}; nothing on the way divides by a parallel size"
        return Owned("per-rank", why, way)
    if ways:
        return Owned("total", f"built once per server, in {ways[0].begins}", ways[0])
    return Owned("unknown", f"{one.at}: nothing that the server runs was found to lead there")
