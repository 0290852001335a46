"""Tuples, lists, dictionaries and comprehensions: how they are made, and what is taken out of them."""

import ast

from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.reading import Reading
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import (
    Const,
    Each,
    Several,
    Table,
    Value,
    Values,
    amounts_in,
    elements,
    union,
)


class Sequences(Reading):
    """Evaluates what holds several values."""

    def _subscript(self, frame: Frame, node: ast.Subscript) -> Values:
        keys = self.evaluate(frame, node.slice) if not isinstance(node.slice, ast.Slice) else ()
        return union(*(self._item(frame, node, owner, keys) for owner in self.evaluate(frame, node.value)))

    def _item(self, frame: Frame, node: ast.Subscript, owner: Value, keys: Values) -> Values:
        if isinstance(node.slice, ast.Slice):
            whole = union(*owner.items) if isinstance(owner, Several) else ()
            return (Each(whole),) if isinstance(owner, Several) else (owner,)
        constants = [key.value for key in keys if isinstance(key, Const)]
        if isinstance(owner, Several):
            if (
                constants
                and isinstance(constants[0], int)
                and -len(owner.items) <= constants[0] < len(owner.items)
            ):
                return owner.items[constants[0]]
            return union(*owner.items)
        if isinstance(owner, Each):
            return owner.item
        if isinstance(owner, Table):
            return owner.get(constants[0]) if constants else owner.every()
        for key in constants:
            if isinstance(key, str) and (held := self.keyed(frame, node, key)):
                return held
        if isinstance(owner, Symbol):
            return (Symbol(written(node), memory=owner.of_memory or None, given_by=owner.given_by),)
        return (Symbol(written(node)),)

    def _tuple(self, frame: Frame, node: ast.Tuple | ast.List) -> Values:
        items: list[Values] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                inner = self.evaluate(frame, item.value)
                if len(inner) == 1 and isinstance(inner[0], Several):
                    items += inner[0].items
                    continue
                every = [*items, *(elements(one) for one in inner)]
                return (Each(union(*every)),)
            items.append(self.evaluate(frame, item))
        return (Several(tuple(items)),) if items or isinstance(node, ast.Tuple) else (Each(()),)

    _list = _tuple

    def _dict(self, frame: Frame, node: ast.Dict) -> Values:
        items: dict[object, Values] = {}
        other: list[Values] = []
        for key, value in zip(node.keys, node.values, strict=True):
            values = self.evaluate(frame, value)
            constant = self.evaluate(frame, key) if key is not None else ()
            if key is None:
                for one in values:
                    if isinstance(one, Table):
                        items |= dict(one.items)
            elif len(constant) == 1 and isinstance(constant[0], Const):
                items[constant[0].value] = values
            else:
                other.append(values)
        return (Table(tuple(items.items()), union(*other)),)

    def _generatorexp(self, frame: Frame, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> Values:
        inner = Frame(frame.module, frame.function, frame.this, dict(frame.names), frame.tests)
        for clause in node.generators:
            self.assign_each(inner, clause.target, self.evaluate(inner, clause.iter))
        with self.machine.looping(node):
            return (Each(self.evaluate(inner, node.elt)),)

    _listcomp = _generatorexp
    _setcomp = _generatorexp

    def _dictcomp(self, frame: Frame, node: ast.DictComp) -> Values:
        inner = Frame(frame.module, frame.function, frame.this, dict(frame.names), frame.tests)
        for clause in node.generators:
            self.assign_each(inner, clause.target, self.evaluate(inner, clause.iter))
        self.evaluate(inner, node.key)
        return (Table((), self.evaluate(inner, node.value)),)

    def _starred(self, frame: Frame, node: ast.Starred) -> Values:
        return self.evaluate(frame, node.value)


def joined(left: Value, right: Value) -> Value | None:
    """A list or tuple with another added to it, of which nothing may be known (a shape's rest); None where they are none."""
    if isinstance(left, Several) and isinstance(right, Several):
        return Several((*left.items, *right.items))
    if isinstance(left, Several | Each) and isinstance(right, Several | Each):
        return Each(union(elements(left), elements(right)))
    for known, other in ((left, right), (right, left)):
        if isinstance(known, Several | Each) and not isinstance(other, Amount) and amounts_in((known,)):
            return Each(union(elements(known), (other,)))
    return None
