"""Calls of what is not the package's own: memory is taken, the value is kept, shown, or lost."""

import ast
from dataclasses import replace

from fleetops.source.tracing import builtin_calls, names
from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.constructing import Constructing
from fleetops.source.tracing.definitions import callee_name, last_name
from fleetops.source.tracing.loops import of_its_own
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import (
    Arguments,
    Const,
    Foreign,
    Partial,
    Several,
    Space,
    Value,
    Values,
    amounts_in,
    union,
)

TRACKS = "a number for each"
_INDEX = frozenset({"int32", "int64", "long"})
EACH = "one for each of several, with bytes of its own"


class Outside(Constructing):
    """Says what becomes of a value that is given to something that cannot be looked into."""

    def _unknown(self, frame: Frame, node: ast.Call, callee: Value, arguments: Arguments) -> Values:
        """A callee outside the package, or one that cannot be told."""
        positional, keywords = arguments
        name = callee_name(node) or _said(callee)
        given = union(*positional, *keywords.values())
        amounts = amounts_in(given)
        text = written(node)
        if name == "partial" and positional:
            return tuple(
                Partial(one, tuple(positional[1:]), tuple(keywords.items())) for one in positional[0]
            )
        if not amounts:
            if builtin_calls.keeps(name) and positional:
                return positional[-1] if name == "cast" else positional[0]
            if isinstance(callee, Space):
                return (Symbol(text),)
            plain = names.symbol(text, name, self.program.package)
            asked = isinstance(callee, Symbol) and isinstance(node.func, ast.Attribute)
            default = positional[-1] if positional and builtin_calls.asks_by_name(name, positional) else ()
            if any(isinstance(one, Symbol) and one.of_memory for one in default):
                return (replace(plain, memory=True),)  # what stands in its place is of its kind
            return (replace(plain, given_by=name) if asked else plain,)
        self.machine.vague |= _first_name(node.func) in frame.names
        alone = all(amounts_in(one) or all(isinstance(value, Const) for value in one) for one in positional)
        if isinstance(callee, Foreign | Symbol) and builtin_calls.keeps(name) and (alone or name == "cast"):
            return tuple(one for one in given if amounts_in((one,)))
        if builtin_calls.only_looks(name):
            return (Symbol(text),)
        if builtin_calls.allocates(name):
            self._allocated(frame, node, positional, amounts)
            return (Symbol(text),)
        why = f"{written(node.func)} cannot be followed"
        if isinstance(callee, Symbol) and "does not parse" in callee.text:
            why = callee.text
        for amount in amounts:
            self.machine.lose(frame, node, amount, why)
        return (Symbol(text),)

    def _allocated(
        self, frame: Frame, node: ast.Call, positional: list[Values], amounts: list[Amount]
    ) -> None:
        """Memory is taken. A number for each row (what is free, what stands where) is not what the rows are for."""
        first = positional[0] if positional else ()
        alone = any(
            isinstance(one, Amount) or (isinstance(one, Several) and len(one.items) == 1) for one in first
        )
        told = [value for one in node.keywords for value in self.evaluate(frame, one.value)]
        by_rank = any(isinstance(one, Symbol) and one.rank_test for one in told)
        numbers = _numbers_things(node)
        for amount in amounts:
            step = self.machine.step(frame, node, "allocation", "allocates", written(node))
            taken = replace(amount, ranks=f"{frame.module.file}:{node.lineno}") if by_rank else amount
            if taken.site is None:
                taken = replace(taken, site=self.machine.site(frame, node))
            # Whatever else there is of a share of memory, a table of it is the share of nothing.
            tracks = alone or (numbers and taken.is_of_memory)
            self.machine.allocations.append(self.machine.met(taken, step, frame, TRACKS if tracks else ""))
            if taken.site and not (tracks and taken.counts_rows):
                self.machine.allocated.add((taken.site, taken.site.path))
                self._by_whom(frame, node, taken, numbers=numbers)

    def _by_whom(self, frame: Frame, node: ast.Call, taken: Amount, *, numbers: bool) -> None:
        """Notes the functions that allocate for whoever made the amount: called again, they allocate again."""
        machine, site = self.machine, taken.site
        if site is None or taken.capped or (taken.of_requests and numbers):
            return
        between = machine.stack[site.depth :]
        for function in between:
            machine.allocators.setdefault((function, site.path), machine.guards)
        around = [
            loop
            for loop, depth in zip(machine.loops, machine.loop_depths, strict=True)
            if loop not in site.loops and depth <= site.depth
        ]
        if between and around:
            why = EACH if all(of_its_own(loop.node, machine.path) for loop in around) else ""
            machine.repeated.append(machine.met(taken, machine.step(frame, node, "allocation"), frame, why))


def _numbers_things(node: ast.Call) -> bool:
    """Whether it allocates whole numbers, as wide as an index: a table of what stands elsewhere, not the things."""
    return any(one.arg == "dtype" and last_name(one.value) in _INDEX for one in node.keywords)


def _first_name(node: ast.expr) -> str:
    """`a` of `a.b(...).c`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _said(callee: Value) -> str:
    if isinstance(callee, Foreign):
        return callee.dotted.rpartition(".")[2]
    return callee.text if isinstance(callee, Symbol) else ""
