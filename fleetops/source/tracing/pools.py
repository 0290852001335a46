"""The pools that are built of the amount: where, of which share of it, and which of them at the same time."""

from dataclasses import replace
from typing import Any

from fleetops.model.proof import ALWAYS, Pool
from fleetops.source.tracing.amounts import answer
from fleetops.source.tracing.definitions import Function
from fleetops.source.tracing.machine import Met


def pools_of(taken: list[Met]) -> tuple[Pool, ...]:
    """One for each place where the number becomes a size, and each share of it."""
    alike = _alike(taken)
    contexts = _contexts(alike)
    found: dict[tuple[str, int, str, str], set[str]] = {}
    for one in alike:
        site = one.amount.site
        if site is None:
            continue
        key = (site.module.file, site.line, site.name, one.amount.share)
        found.setdefault(key, set()).update([_when(one, contexts)])
    return tuple(
        Pool(
            file=file,
            line=line,
            name=name,
            share="part" if share == "part" else "whole",
            when=ALWAYS if ALWAYS in when else "; ".join(sorted(when)),
        )
        for (file, line, name, share), when in sorted(
            found.items(), key=lambda item: (item[0][3] == "part", ALWAYS not in item[1], item[0])
        )
    )


def simultaneous(taken: list[Met]) -> int:
    """The most whole pools that one stack builds."""
    most = 1
    for group in _contexts(_alike([one for one in taken if one.step.role != "check"])).values():
        wholes = {_place(one): one for one in group if one.amount.share == "whole" and not _is_idle(one)}
        whole = list(wholes.values())
        beside = [[not _excludes(one, other) for other in whole] for one in whole]
        most = max([most, *(_together(first, beside) for first in range(len(whole)))])
    return most


def _is_idle(one: Met) -> bool:
    """Whether it would take memory only where a test on the way there goes the other way."""
    so, site = one.amount.provided, one.amount.site
    if so is None or site is None:
        return False
    opposite = replace(so, truth=not so.truth)
    return any(answer(guard.test, truth=guard.branch) == opposite for guard in (*site.guards, *one.guards))


def _together(first: int, beside: list[list[bool]]) -> int:
    """How many stand beside each other, that one among them."""
    kept = [first]
    for one in range(len(beside)):
        if one != first and all(beside[one][other] for other in kept):
            kept.append(one)
    return len(kept)


def _alike(taken: list[Met]) -> list[Met]:
    """Of those that take memory for the very same amount, one."""
    found: dict[tuple[Any, ...], Met] = {}
    for one in taken:
        if site := one.amount.site:
            key = (
                one.root,
                _place(one),
                site.guards,
                one.amount.share,
                one.amount.provided,
                one.step.role == "check",
            )
            found.setdefault(key, one)
    return list(found.values())


def _contexts(taken: list[Met]) -> dict[Function | None, list[Met]]:
    """By the function from which they were followed: what one of them builds stands beside each other."""
    found: dict[Function | None, list[Met]] = {}
    for one in taken:
        found.setdefault(one.root, []).append(one)
    return found


def _when(one: Met, contexts: dict[Function | None, list[Met]]) -> str:
    """`always` where it is the only pool of its stack; else which stack it belongs to."""
    beside = {
        (other.amount.site.name, other.amount.site.line)
        for other in contexts[one.root]
        if other.amount.site and not _excludes(one, other) and _place(other) != _place(one)
    }
    if (not beside and one.amount.share == "whole") or one.step.role == "check":
        return ALWAYS
    names = " and ".join(
        sorted({name for name, _ in beside} or {one.amount.site.name if one.amount.site else ""})
    )
    title = one.root.title if one.root else ""
    return f"{title}: {'shared with' if one.amount.share == 'part' else 'beside'} {names}"


def _place(one: Met) -> tuple[Any, ...]:
    """What makes two allocations of one site two pools: the calls that led to it."""
    site = one.amount.site
    return (site.module.file, site.line, site.path) if site else ()


def _excludes(one: Met, other: Met) -> bool:
    """Whether no run can build both: different ways of one test, or different callees of one call."""
    first, second = one.amount.site, other.amount.site
    if first is None or second is None:
        return False
    ways = first.ways
    if any(ways.get((one.path, one.text), one.branch) is not one.branch for one in second.guards):
        return True
    # a thing is of one class: of two classes that it is tested for, only one is its own
    for guard in second.guards:
        if (
            guard.branch
            and (guard.path, guard.subject) in first.kinds
            and (guard.path, guard.text) not in ways
        ):
            return True
    for here, there in zip(first.path, second.path, strict=False):
        if here != there:
            return here.node is there.node
    return False
