"""Assignments: what a variable, an attribute or an item holds from then on."""

import ast
import re
from dataclasses import replace

from fleetops.source.tracing.amounts import Symbol
from fleetops.source.tracing.calls import Calls
from fleetops.source.tracing.definitions import last_name
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.names import counts_bytes
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import (
    Const,
    Each,
    Object,
    Several,
    Table,
    Value,
    Values,
    amounts_in,
    elements,
    settled,
    union,
)


class Assigning(Calls):
    """Binds targets."""

    def _assign(self, frame: Frame, statement: ast.Assign) -> None:
        values = self.evaluate(frame, statement.value)
        for target in statement.targets:
            self.assign(frame, target, values, statement.value)

    def _annassign(self, frame: Frame, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(frame, statement.target, self.evaluate(frame, statement.value), statement.value)

    def _augassign(self, frame: Frame, statement: ast.AugAssign) -> None:
        left = ast.copy_location(_loaded(statement.target), statement)
        whole = ast.copy_location(ast.BinOp(left, statement.op, statement.value), statement)
        self.assign(frame, statement.target, self.evaluate(frame, whole), whole)

    def assign(self, frame: Frame, target: ast.expr, values: Values, source: ast.expr) -> None:
        """Bind one target."""
        if isinstance(target, ast.Name):
            self._assign_name(frame, target.id, values, source)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(frame, target, values, source)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(frame, target, values)
        elif isinstance(target, ast.Subscript):
            self._assign_item(frame, target, values)

    def _assign_name(self, frame: Frame, name: str, values: Values, source: ast.expr) -> None:
        if name in frame.global_names or frame.function is None:
            for amount in amounts_in(values):
                self.machine.hold(Field(name, amount, variable_of=frame.module))
        frame.tests[name] = source
        frame.names[name] = called(name, values)

    def _unpack(self, frame: Frame, target: ast.Tuple | ast.List, values: Values, source: ast.expr) -> None:
        for place, inner in enumerate(target.elts):
            found: list[Values] = []
            for value in values:
                if (
                    isinstance(value, Several)
                    and place < len(value.items)
                    and not isinstance(inner, ast.Starred)
                ):
                    found.append(value.items[place])
                else:
                    found.append(elements(value) or (() if isinstance(value, Symbol) else (value,)))
            self.assign(frame, inner, union(*found) or (_of_one(inner, values),), source)

    def assign_each(self, frame: Frame, target: ast.expr, sources: Values) -> None:
        """A loop's variable."""
        items = union(*(elements(one) for one in sources))
        names = [one.name for one in sources if isinstance(one, Each) and one.name]
        if names and not amounts_in(items) and isinstance(target, ast.Name):
            # one of them, and so a summand of their sum
            items = tuple(
                Symbol(names[0], one.parallel, one.counts_bytes, memory=one.of_memory or None)
                if isinstance(one, Symbol)
                else one
                for one in items
            )
            items = items or (Symbol(names[0]),)
        self.assign(frame, target, items or (Symbol(written(target)),), target)

    def _assign_attribute(self, frame: Frame, target: ast.Attribute, values: Values) -> None:
        values = settled(values)
        amounts = amounts_in(values)
        for owner in self.evaluate(frame, target.value):
            if isinstance(owner, Object):
                self.machine.keep(owner, target.attr, called(f"self.{target.attr}", values))
            if target.attr == self.machine.flag and self.is_declared_on(owner):
                self.override(frame, target, values)
                continue
            for amount in amounts:
                self.machine.hold(Field(target.attr, amount, owner.of if isinstance(owner, Object) else None))

    def _assign_item(self, frame: Frame, target: ast.Subscript, values: Values) -> None:
        keys = self.evaluate(frame, target.slice)
        key = keys[0].value if len(keys) == 1 and isinstance(keys[0], Const) else None
        for owner in self.evaluate(frame, target.value):
            if isinstance(owner, Table) and isinstance(target.value, ast.Name):
                items = dict(owner.items)
                if key is not None:
                    items[key] = values
                other = owner.other if key is not None else union(owner.other, values)
                frame.names[target.value.id] = (Table(tuple(items.items()), other),)
                return
        if isinstance(target.value, ast.Name) and amounts_in(values) and not isinstance(key, str):
            # a list whose item at some place it becomes
            before = frame.names.get(target.value.id, ())
            every = union(*(elements(one) for one in before), values)
            frame.names[target.value.id] = (Each(every, target.value.id),)
            return
        if key == self.machine.flag and last_name(target.value) in {"__dict__", "vars"}:
            self.override(frame, target, values)
            return
        for amount in amounts_in(values):
            if isinstance(key, str):
                self.machine.hold(Field(key, amount))


def _of_one(target: ast.expr, values: Values) -> Symbol:
    """An item of something unknown."""
    whole = [one for one in values if isinstance(one, Symbol)]
    given = {one.given_by for one in whole}
    return Symbol(
        written(target),
        memory=any(one.of_memory for one in whole) or None,
        given_by=given.pop() if len(given) == 1 else "",
    )


# A page is what sizes are rounded to: whatever it is, it does not change an amount.
_IS_PAGE = re.compile(r"(^|\.)(page_size|page_len|tokens_per_page)$")


def called(name: str, values: Values) -> Values:
    """What a variable holds: a computed symbol is spoken of by the variable from then on."""
    found = tuple(
        Each(one.item, name) if isinstance(one, Each) and not one.name else _named(one, name)
        for one in values
    )
    if len(found) > 1 and all(isinstance(one, Symbol) for one in found) and _IS_PAGE.search(name):
        return (Symbol(name),)
    return union(found)


def _named(value: Value, name: str) -> Value:
    if not isinstance(value, Symbol) or value.parameter:
        return value
    if _IS_PAGE.search(name):
        return Symbol(name)
    terms = value.terms | ({value.text} if value.terms else frozenset())
    return replace(
        value,
        text=name,
        terms=terms,
        counts_bytes=value.counts_bytes or counts_bytes(name),
        memory=value.of_memory or Symbol(name).of_memory or value.memory,
    )


def _loaded(target: ast.expr) -> ast.expr:
    """The target of `x += 1`, to be read."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return target
