"""What a method of an object gives, of which nothing but its name is known: the sizes of tensors, or a machine's memory."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from fleetops.source.tracing.amounts import Amount, Symbol, names_memory
from fleetops.source.tracing.definitions import Function, last_name
from fleetops.source.tracing.names import OF_TENSORS, counts_bytes
from fleetops.source.tracing.program import Program

_DEEP = 8
# What one row of a tensor takes.
_EACH = re.compile(r"(^|_)(row|item|page|token|slot|element)_(n?bytes|byte_size)$")


def measured(amount: Amount, program: Program) -> Amount:
    """The amount, with what is known of the symbols that it has been multiplied by."""
    if not any(one.given_by and one.memory is None for one in amount.times):
        return amount
    return replace(amount, times=tuple(_known(one, program) for one in amount.times))


def _known(one: Symbol, program: Program) -> Symbol:
    if one.memory is None and one.given_by and _gives_sizes(one.given_by, program):
        return replace(one, memory=False)
    return one


def _gives_sizes(name: str, program: Program) -> bool:
    """Whether every method of that name measures tensors (or asks another's for it), and no machine's memory."""
    methods = [one for one in program.methods_named.find(name) if not _only_raises(one)]
    return bool(methods) and all(_measures_tensors(one, program) for one in methods)


def _measures_tensors(method: Function, program: Program) -> bool:
    reached = _reached({method}, program)
    if reached is None:
        return False
    names = {name for one in reached for name in _named_in(one)}
    tells = bool(names & {*OF_TENSORS, method.name}) or any(_EACH.search(name) for name in names)
    return tells and not any(map(names_memory, names))


def _reached(functions: set[Function], program: Program) -> set[Function] | None:
    """With all that they call of the package; None where the calls go on and on."""
    for _ in range(_DEEP):
        more = {called for one in functions for called in _called_by(one, program)} - functions
        if not more:
            return functions
        functions = functions | more
    return None


def _only_raises(function: Function) -> bool:
    return isinstance(function.node.body[-1], ast.Raise) and not any(
        isinstance(node, ast.Return) for node in ast.walk(function.node)
    )


def _called_by(function: Function, program: Program) -> Iterator[Function]:
    """Functions of the package, methods and properties of its own object, and any object's that count bytes."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and last_name(node.value) != "self" and counts_bytes(node.attr):
            yield from program.methods_named.find(node.attr)
        target = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            target = program.lookup(function.module, node.func.id)
        elif isinstance(node, ast.Attribute) and last_name(node.value) == "self" and function.owner:
            target = program.method(function.owner, node.attr)
        if isinstance(target, Function):
            yield target


def _named_in(function: Function) -> Iterator[str]:
    for statement in function.node.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name | ast.Attribute):
                yield last_name(node)
