"""What stands behind a name: variables, the names of a module, attributes and fields."""

import ast
from collections.abc import Iterable
from dataclasses import replace

from fleetops.source.tracing import names
from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.definitions import Class, Function, Module, last_name
from fleetops.source.tracing.evaluating import Evaluator
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.names import parameters
from fleetops.source.tracing.program import Broken, Definition, External, Variable
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import (
    Const,
    Each,
    Foreign,
    Lambda,
    Object,
    Parent,
    Reference,
    Several,
    Space,
    Value,
    Values,
    union,
)


class Reading(Evaluator):
    """Evaluates constants, names and attributes."""

    def _constant(self, _frame: Frame, node: ast.Constant) -> Values:
        return (Const(node.value),)

    def _joinedstr(self, _frame: Frame, node: ast.JoinedStr) -> Values:
        return (Symbol(written(node)),)

    def _name(self, frame: Frame, node: ast.Name) -> Values:
        if node.id in frame.names and node.id not in frame.global_names:
            return frame.names[node.id]
        held = self._held(node.id, frame.module)
        if held:
            return tuple(one.after(self.machine.step(frame, node, "read")) for one in held)
        return self._globally(frame.module, node.id)

    def _globally(self, module: Module, name: str) -> Values:
        """A module's name; where it is imported one way or another, everything that it may be."""
        found = self.defined(self.program.lookup(module, name), name)
        for other in module.otherwise.get(name, ()):
            target = self.program.imported(other)
            if isinstance(target, Function | Class):
                found = union(found, (Reference(target),))
        return found

    def _held(self, name: str, module: Module) -> list[Amount]:
        """Amounts in a module's variable."""
        return [one.amount for one in self.machine.fields.get(name, ()) if one.variable_of is module]

    def defined(self, target: Definition | None, name: str) -> Values:
        """A definition as a value."""
        if isinstance(target, Function | Class):
            return (Reference(target),)
        if isinstance(target, Module):
            return (Space(target),)
        if isinstance(target, External):
            return (Foreign(target.dotted),)
        if isinstance(target, Variable):
            return self._variable(target)
        if isinstance(target, Broken):
            return (Symbol(f"{name} ({target.why})"),)
        return (names.symbol(name, name, self.program.package),)

    def _variable(self, variable: Variable) -> Values:
        """A module's variable: everything that the module's own level assigns to it."""
        held = self._held(variable.name, variable.module)
        if held:
            return tuple(held)
        key = (id(variable.module), variable.name)
        plain = names.symbol(variable.name, variable.name, self.program.package)
        if key in self._looking_up:
            return (plain,)
        if key in self.machine.results:
            return self.machine.results[key]
        self._looking_up.add(key)
        try:
            frame = Frame(variable.module)
            assigned = variable.module.assigns[variable.name]
            found = union(*(self.evaluate(frame, value) for value in assigned[-3:]))
        finally:
            self._looking_up.discard(key)
        known = tuple(
            replace(plain, memory=one.of_memory or plain.memory)
            if isinstance(one, Symbol) and not one.parallel
            else one
            for one in found
        )
        self.machine.results[key] = known
        return known

    def _attribute(self, frame: Frame, node: ast.Attribute) -> Values:
        held: list[Value] = []
        for owner in self.evaluate(frame, node.value):
            held += self._member(frame, node, owner)
        return union(held)

    def _member(self, frame: Frame, node: ast.Attribute, owner: Value) -> Iterable[Value]:
        name = node.attr
        if isinstance(owner, Object):
            if (owner, name) in self.machine.state:
                return self.machine.state[owner, name]
            if found := self._of_class(frame, node, owner):
                return found
        if isinstance(owner, Parent):
            method = self.program.method(owner.self.of, name, after=owner.behind)
            return (Reference(method, owner.self),) if method else (Foreign(f"super.{name}"),)
        if isinstance(owner, Space):
            held = self._held(name, owner.module)
            return held or self.defined(self.program.member(owner.module, name), name)
        if isinstance(owner, Foreign):
            return (self._foreign(owner.dotted, name),)
        if isinstance(owner, Reference) and isinstance(owner.target, Class):
            return self._of_reference(owner.target, name)
        if fields := self._read(frame, node, owner):
            return fields
        return (self._symbol(node),)

    def _of_class(self, frame: Frame, node: ast.Attribute, owner: Object) -> Values:
        """A method, a property, a field that holds the value, or what some method of the class has put there."""
        method = self.program.method(owner.of, node.attr)
        if method:
            if {"property", "cached_property"} & set(method.decorators):
                return self.invoke(frame, node, method, owner)
            return (Reference(method, None if "staticmethod" in method.decorators else owner),)
        if fields := self._read(frame, node, owner):
            return fields
        return self._assigned(owner.of, node.attr)

    def _assigned(self, of: Class, name: str) -> Values:
        """What the class's body, or any of its methods, assigns to `self.name`."""
        key = (id(of), name)
        if key in self._looking_up:
            return ()
        if key in self.machine.results:
            return self.machine.results[key]
        self._looking_up.add(key)
        found: list[Values] = []
        try:
            for base in self.program.lineage(of):
                if name in base.annotated:  # a dataclass's parameter: its default is only that
                    found.append((names.symbol(f"self.{name}", name, self.program.package),))
                elif base.fields.get(name) is not None:
                    found.append(self.evaluate(Frame(base.module), base.fields[name]))
                for method, value in base.stores.get(name, ()):
                    known = dict(parameters(method, self.program.package))
                    found.append(self.evaluate(Frame(base.module, method, names=known), value))
                if found:
                    break
        finally:
            self._looking_up.discard(key)
        text = f"self.{name}"
        self.machine.results[key] = tuple(
            replace(names.symbol(text, name, self.program.package), memory=one.of_memory or one.memory)
            if isinstance(one, Symbol) and not (one.parallel or one.counts_bytes or one.rank_test)
            else one
            for one in union(*found)
            if not isinstance(one, Const) or one.value is not None
        )
        return self.machine.results[key]

    def _of_reference(self, of: Class, name: str) -> Values:
        if method := self.program.method(of, name):
            bound = Object(of, self.machine.path) if "classmethod" in method.decorators else None
            return (Reference(method, bound),)
        if name in of.classes:
            return (Reference(of.classes[name]),)
        for base in self.program.lineage(of):
            if base.fields.get(name) is not None:
                return self.evaluate(Frame(base.module), base.fields[name])
        return ()

    def _read(self, frame: Frame, node: ast.Attribute, owner: Value) -> Values:
        """Amounts held in fields of that name, where `owner` may be what holds them."""
        held = [
            one
            for one in self.machine.fields.get(node.attr, ())
            if one.variable_of is None and self._may_hold(owner, one)
        ]
        if not held:
            return ()
        step = self.machine.step(frame, node, "read")
        return tuple(one.amount.after(step) for one in held)

    def _may_hold(self, owner: Value, held: Field) -> bool:
        if isinstance(owner, Const | Each | Several | Lambda):
            return False
        if isinstance(owner, Object):
            related = held.owner is not None and self.program.related(owner.of, held.owner)
            return related or not self._defines(owner.of, held.name)
        return True

    def _defines(self, of: Class, name: str) -> bool:
        """Whether the class has an attribute of that name by itself; one that has not may hand on another's."""
        return any(
            name in base.fields or name in base.annotated or name in base.stores
            for base in self.program.lineage(of)
        )

    def keyed(self, frame: Frame, node: ast.AST, key: str) -> Values:
        """Amounts held under a dictionary's key (or in an attribute that is asked for by its name)."""
        held = [one for one in self.machine.fields.get(key, ()) if one.variable_of is None]
        return tuple(one.amount.after(self.machine.step(frame, node, "read")) for one in held)

    def _foreign(self, dotted: str, name: str) -> Value:
        classified = names.symbol(f"{dotted}.{name}", name, self.program.package)
        return Foreign(f"{dotted}.{name}") if not classified.parallel else classified

    def _symbol(self, node: ast.expr) -> Symbol:
        return names.group_size(node) or names.symbol(written(node), last_name(node), self.program.package)
