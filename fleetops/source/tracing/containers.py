"""Look-ups by a name, and methods of dictionaries and lists."""

import ast

from fleetops.source.tracing import builtin_calls
from fleetops.source.tracing.amounts import Amount
from fleetops.source.tracing.binding import Binding
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.values import (
    Arguments,
    Const,
    Each,
    Object,
    Reference,
    Space,
    Table,
    Value,
    Values,
    amounts_in,
    elements,
    union,
)


class Containers(Binding):
    """Follows what goes into a container and comes out of it."""

    def _member_by_name(self, frame: Frame, node: ast.Call, positional: list[Values]) -> Values:
        """`getattr(module, "Name")`."""
        key = positional[1][0] if len(positional) > 1 and len(positional[1]) == 1 else None
        if not isinstance(key, Const) or not isinstance(key.value, str) or not key.value.isidentifier():
            return ()
        found: list[Value] = []
        for owner in positional[0]:
            if isinstance(owner, Space | Reference | Object):
                spelled = ast.copy_location(ast.Attribute(node.args[0], key.value, ast.Load()), node)
                found += self._member(frame, spelled, owner)
        return union(found)

    def _asked_by_name(self, frame: Frame, node: ast.Call, name: str, positional: list[Values]) -> Values:
        """`d.get("flag")`, `getattr(args, "flag")`: a read of the field."""
        keys = (
            positional[1]
            if name == "getattr" and len(positional) > 1
            else positional[0]
            if positional
            else ()
        )
        for key in keys:
            if (
                isinstance(key, Const)
                and isinstance(key.value, str)
                and (held := self.keyed(frame, node, key.value))
            ):
                return held
        default = positional[2:3] if name == "getattr" else positional[1:2]
        if default and (kept := amounts_in(default[0])):
            named = keys[0].value if keys and isinstance(keys[0], Const) else "another setting"
            self.machine.notes.append(f"{named} may take its place where it is set")
            return tuple(kept)
        if name == "get" and isinstance(node.func, ast.Attribute):
            for table in self.evaluate(frame, node.func.value):
                if isinstance(table, Table) and keys and isinstance(keys[0], Const):
                    return union(table.get(keys[0].value), *default) or (Const(None),)
        return union(*default) if default and amounts_in(default[0]) else ()

    def _on_container(
        self, frame: Frame, node: ast.Call, func: ast.Attribute, arguments: Arguments
    ) -> Values | None:
        positional, keywords = arguments
        given = union(*positional, *keywords.values())
        owners = self.evaluate(frame, func.value)
        kept = [one for one in owners if isinstance(one, Amount)]
        if kept and builtin_calls.keeps(func.attr):
            return tuple(kept)
        for owner in owners:
            if isinstance(owner, Table) and func.attr == "update":
                self._update(frame, func.value, owner, arguments)
                return (Const(None),)
            if isinstance(owner, Table) and func.attr in {"items", "values"}:
                every = owner.every()
                return (Each(every if func.attr == "values" else ()),)
            if isinstance(owner, Each) and func.attr in {"append", "extend", "add", "insert"}:
                if isinstance(func.value, ast.Name):
                    more = union(*(elements(one) for one in given)) if func.attr == "extend" else given
                    frame.names[func.value.id] = (Each(union(owner.item, more), owner.name),)
                return (Const(None),)
        if (
            func.attr == "update"
            and self.machine.flag in keywords
            and not amounts_in(keywords[self.machine.flag])
        ):
            self.override(frame, node, keywords[self.machine.flag])
            return (Const(None),)
        if func.attr == "update" and amounts_in(given):
            for value in given:
                if isinstance(value, Table):
                    self._store_table(value)
            for key, values in keywords.items():
                self._store_table(Table(((key, values),)))
            return (Const(None),)
        return None

    def _update(self, frame: Frame, target: ast.expr, owner: Table, arguments: Arguments) -> None:
        positional, keywords = arguments
        items = dict(owner.items)
        for value in union(*positional):
            if isinstance(value, Table):
                items |= dict(value.items)
        items |= keywords
        if isinstance(target, ast.Name):
            frame.names[target.id] = (Table(tuple(items.items()), owner.other),)
        else:
            self._store_table(Table(tuple(items.items())))

    def _store_table(self, table: Table) -> None:
        """Amounts that go into a dictionary which is not followed are found again by their keys."""
        for key, values in table.items:
            for amount in amounts_in(values):
                if isinstance(key, str):
                    self.machine.hold(Field(key, amount))
