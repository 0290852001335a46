"""Where two ways come together again: what each variable may hold then."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from fleetops.source.tracing.amounts import Amount, Answer
from fleetops.source.tracing.values import Const, Values, amounts_in, limited, union

Key = TypeVar("Key")


def limit(first: dict[Key, Values], second: dict[Key, Values], place: str) -> None:
    """What differs between two ways that ranks go is not given to all of them."""
    for key in set(first) | set(second):
        amounts = [set(amounts_in(one.get(key, ()))) for one in (first, second)]
        if amounts[0] != amounts[1]:
            for one in (first, second):
                if key in one:
                    one[key] = limited(one[key], place)


def is_floor(statement: ast.If) -> bool:
    """`if size < least: size = least`."""
    test = statement.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or statement.orelse:
        return False
    small = test.left if isinstance(test.ops[0], ast.Lt | ast.LtE) else test.comparators[0]
    return any(
        isinstance(one, ast.Assign)
        and any(ast.unparse(target) == ast.unparse(small) for target in one.targets)
        for one in statement.body
    )


def mark_floor(changed: dict[Key, Values], kept: dict[Key, Values], test: str) -> None:
    """What was an amount and has become something else where it was too small."""
    for key, values in kept.items():
        if changed.get(key) != values and amounts_in(values) and not amounts_in(changed.get(key, ())):
            kept[key] = tuple(
                replace(one, moved=(*one.moved, f"what stands in its place if {test}"))
                if isinstance(one, Amount)
                else one
                for one in values
            )


def mark_kept(changed: dict[Key, Values], kept: dict[Key, Values], provided: Answer) -> None:
    """What has stayed None where something else was given an amount."""
    for key, values in kept.items():
        if values == (Const(None),) and amounts_in(changed.get(key, ())):
            kept[key] = (Const(None, provided),)


def _replaced(values: Values) -> Values:
    """An amount in place of which another number may stand is not the flag's any more."""
    numbers = [one for one in values if isinstance(one, Const) and _is_size(one.value)]
    if not numbers or not any(isinstance(one, Amount) for one in values):
        return values
    said = f"{numbers[0].value} in its place"
    return tuple(replace(one, moved=(*one.moved, said)) if isinstance(one, Amount) else one for one in values)


def _is_size(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1, -1)


def merged(first: Mapping[Key, Values], second: Mapping[Key, Values]) -> dict[Key, Values]:
    """Variables after two branches: everything that each may hold."""
    both = dict(first)
    for key, values in second.items():
        mine = both.get(key, values)
        if mine is not values:
            both[key] = _replaced(union(mine, values)) if mine != values else values
        else:
            both[key] = values
    return both
