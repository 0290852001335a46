"""Arithmetic on what is followed: which unit a factor makes, what a division by a parallel size means."""

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fleetops.source.tracing.amounts import Amount, Symbol, powers
from fleetops.source.tracing.values import Const, Each, Foreign, Value

_FOLD: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}
_LARGEST_POWER = 4096
Number = int | float


def number(value: Value) -> Fraction | None:
    """A constant's exact number; None for anything else."""
    if (
        not isinstance(value, Const)
        or isinstance(value.value, bool)
        or not isinstance(value.value, int | float)
    ):
        return None
    try:
        return Fraction(value.value)
    except (ValueError, OverflowError):  # infinity, not a number
        return None


def fold(node: ast.operator, left: Value, right: Value) -> Const | None:
    """Two constants' result, as Python would have it; None where it would not, or where it is absurdly large."""
    if not isinstance(left, Const) or not isinstance(right, Const) or type(node) not in _FOLD:
        return None
    if isinstance(node, ast.Pow | ast.LShift) and not (
        isinstance(right.value, int) and abs(right.value) <= _LARGEST_POWER
    ):
        return None
    if isinstance(node, ast.Mult) and not (number(left) is not None and number(right) is not None):
        return None
    try:
        return Const(_FOLD[type(node)](left.value, right.value))
    except (TypeError, ValueError, ArithmeticError):
        return None


def combine(node: ast.operator, left: Value, right: Value, text: str) -> Value | None:
    """What a binary operation gives; None where nothing about it is known."""
    if (folded := fold(node, left, right)) is not None:
        return folded
    if isinstance(left, Amount):
        return _amount_first(node, left, right, text)
    if isinstance(right, Amount):
        return _amount_second(node, left, right, text)
    zero = number(left) == 0 or (isinstance(node, ast.Mult) and number(right) == 0)
    if zero and isinstance(node, ast.Mult | ast.Div | ast.FloorDiv):
        return Const(0)  # whatever the other is
    return _symbols(node, left, right, text)


def _amount_first(node: ast.operator, left: Amount, right: Value, text: str) -> Value | None:
    factor = number(right)
    if isinstance(node, ast.Mult):
        return scaled(left, right, 1)
    if isinstance(node, ast.Div | ast.FloorDiv):
        return scaled(left, right, -1)
    if isinstance(node, ast.LShift) and factor is not None and 0 <= factor <= _LARGEST_POWER:
        return replace(left, coefficient=left.coefficient * 2 ** int(factor), capped=False, of_requests=False)
    if isinstance(node, ast.RShift) and factor is not None and 0 <= factor <= _LARGEST_POWER:
        return replace(left, coefficient=left.coefficient / 2 ** int(factor))
    if isinstance(node, ast.Mod):
        return Symbol(text)  # a remainder is no amount
    if isinstance(node, ast.Add | ast.Sub):
        return _moved(left, right, text)
    return Symbol(text)


def _amount_second(node: ast.operator, left: Value, right: Amount, text: str) -> Value | None:
    if isinstance(node, ast.Mult):
        return scaled(right, left, 1)
    if isinstance(node, ast.Sub) and number(left) == 1 and right.is_bare:
        return replace(right, complement=True)
    if isinstance(node, ast.Add):
        return _moved(right, left, text)
    if isinstance(node, ast.Sub) and right.complement:
        return right  # what is left of the memory beside the other part of it
    # something less the amount is what remains of it, something divided by it is no amount of it
    return Symbol(text)


def _moved(amount: Amount, other: Value, text: str) -> Amount:
    """A sum. Once the number has become an amount, what is added is padding; before, it changes what was asked."""
    step = number(other)
    if isinstance(other, Amount):
        return replace(amount, moved=(*amount.moved, text))
    if isinstance(other, Symbol) and not amount.is_bare:
        return amount
    if (step is not None and abs(step) <= 1) or not amount.is_bare:
        return amount
    if isinstance(other, Symbol) and other.text == "0":
        return amount
    return replace(amount, moved=(*amount.moved, text))


def scaled(amount: Amount, other: Value, sign: int) -> Amount | Symbol:
    """Times or divided by something."""
    factor = number(other)
    if factor is not None:
        if factor == 0:
            return Symbol("0")
        coefficient = amount.coefficient * (factor if sign > 0 else 1 / factor)
        return replace(amount, coefficient=coefficient, capped=False, of_requests=False)
    if isinstance(other, Amount):
        # the flag's value times itself is nothing that can be explained
        return replace(amount, moved=(*amount.moved, "the value times itself"))
    symbol = other if isinstance(other, Symbol) else Symbol(str(type(other).__name__).lower())
    if symbol.share and sign > 0:
        return replace(amount, share="part")
    unit = symbol.factor if sign > 0 else 1 / symbol.factor
    limited = "a test of the rank" if symbol.rank_test and sign > 0 and not amount.ranks else amount.ranks
    changed = replace(
        amount,
        parallel=powers(amount.parallel, symbol.parallel, sign=sign),
        coefficient=amount.coefficient * unit,
        ranks=limited,
        capped=False,
        of_requests=False,
    )
    if symbol.parallel and not symbol.counts_bytes and not symbol.mixed:
        return changed
    if amount.is_bare and sign < 0 and not symbol.counts_bytes:
        changed = replace(changed, moved=(*changed.moved, f"a division by {symbol.text}"))
    bare = replace(symbol, parallel=(), mixed=False, factor=Fraction(1))
    times, over = list(amount.times), list(amount.over)
    same, opposite = (times, over) if sign > 0 else (over, times)
    if bare in opposite:
        opposite.remove(bare)
    else:
        same.append(bare)
    for one in list(times):
        total = next((whole for whole in over if one.text in whole.terms), None)
        if total:  # a summand over its sum: a part
            times.remove(one)
            over.remove(total)
            changed = replace(changed, share="part")
    return replace(changed, times=tuple(times), over=tuple(over))


def _symbols(node: ast.operator, left: Value, right: Value, text: str) -> Symbol | None:
    """Neither is the flag's: what is left of it is whether it counts bytes, and parallel sizes in it."""
    first = left if isinstance(left, Symbol) else None
    second = right if isinstance(right, Symbol) else None
    if first is None and second is None:
        return Symbol(text)
    plain = Symbol(text, mixed=not (_is_pure(left) and _is_pure(right)), factor=_unit_in(node, left, right))
    bytes_first = first is not None and first.counts_bytes
    bytes_second = second is not None and second.counts_bytes
    plain = replace(plain, memory=_memory(node, first, second))
    if isinstance(node, ast.Mult):
        return replace(
            plain,
            parallel=powers(first.parallel if first else (), second.parallel if second else ()),
            counts_bytes=bytes_first or bytes_second,
        )
    if isinstance(node, ast.Div | ast.FloorDiv):
        if first and second and first.text in second.terms:
            return Symbol(text, share=True)
        parallel = powers(first.parallel if first else (), second.parallel if second else (), sign=-1)
        return replace(plain, parallel=parallel, counts_bytes=bytes_first and not bytes_second)
    if isinstance(node, ast.Add | ast.Sub):
        terms = frozenset[str]().union(*(one.terms | {one.text} for one in (first, second) if one))
        return replace(
            plain,
            parallel=_common(first, second),
            counts_bytes=bytes_first or bytes_second,
            terms=terms,
            mixed=True,
        )
    return Symbol(text)


def _memory(node: ast.operator, first: Symbol | None, second: Symbol | None) -> bool | None:
    """Whether what comes of it still is memory; over the bytes that one of something takes it is a number of them."""
    every = [one for one in (first, second) if one]
    if isinstance(node, ast.Div | ast.FloorDiv) and second and (second.counts_bytes or second.of_memory):
        return False
    if any(one.of_memory for one in every):
        return True
    return False if all(one.memory is False for one in every) else None


_UNITS = frozenset({Fraction(10**9), Fraction(2**30), Fraction(10**6), Fraction(2**20)})


def _unit_in(node: ast.operator, left: Value, right: Value) -> Fraction:
    """A unit's factor that it has been multiplied or divided by; other constants are dimensions."""
    factor = Fraction(1)
    for value, sign in ((left, 1), (right, -1 if isinstance(node, ast.Div | ast.FloorDiv) else 1)):
        known = number(value)
        if isinstance(value, Symbol):
            factor *= value.factor if sign > 0 else 1 / value.factor
        elif known in _UNITS or (known and 1 / known in _UNITS):
            factor *= known if sign > 0 else 1 / known
    return factor if isinstance(node, ast.Mult | ast.Div | ast.FloorDiv) else Fraction(1)


def _is_pure(value: Value) -> bool:
    """A constant, or nothing but parallel sizes."""
    return number(value) == 1 or (isinstance(value, Symbol) and bool(value.parallel) and not value.mixed)


def _common(first: Symbol | None, second: Symbol | None) -> tuple[tuple[str, int], ...]:
    """Of a sum: a padding beside an amount does not take its parallel sizes away."""
    if first and second and first.parallel and second.parallel:
        return first.parallel if first.parallel == second.parallel else ()
    return next((one.parallel for one in (first, second) if one and one.parallel), ())


def say_factor(factor: Fraction) -> str:
    """`1e9`, `1 << 30`, `2.5`: for a person."""
    known = {10**9: "1e9", 10**6: "1e6", 2**30: "2^30", 2**20: "2^20", 2**10: "2^10", 10**3: "1000"}
    if factor.denominator == 1 and int(factor) in known:
        return known[int(factor)]
    return f"{float(factor):g}"


def plain(value: Value) -> Value:
    """What arithmetic sees of a value that is neither a number nor the flag's."""
    if isinstance(value, Amount | Const | Symbol):
        return value
    if isinstance(value, Foreign):
        return Symbol(value.dotted)
    if isinstance(value, Each):
        return Symbol(value.name or "a sequence")
    return Symbol(type(value).__name__.lower())
