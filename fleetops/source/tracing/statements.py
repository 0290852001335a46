"""Whole functions: their statements in order, loops, what they return."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from fleetops.source.tracing.amounts import Amount
from fleetops.source.tracing.branching import Branching
from fleetops.source.tracing.definitions import Function, FunctionNode
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.merging import merged
from fleetops.source.tracing.names import parameters
from fleetops.source.tracing.values import (
    Const,
    Each,
    Object,
    Reference,
    Several,
    Values,
    amounts_in,
    settled,
    union,
)


class Statements(Branching):
    """Follows whole functions."""

    def run(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        """Everything that it may return; its effects are in the machine."""
        frame = Frame(target.module, target, this, bound)
        self.machine.stack.append(target)
        self.machine.entered.add(target)
        self.machine.followed_on.add((target, this))
        try:
            self.block(frame, target.node.body)
        finally:
            self.machine.stack.pop()
        return union(*frame.returned) or (Const(None),)

    def invoke(self, frame: Frame, node: ast.AST, target: Function, this: Object | None) -> Values:
        """A property's value."""
        return self._function(frame, node, Reference(target, this), target, ([], {}))

    def root(self, target: Function) -> Values:
        """Follow a function of which nothing is known but itself; what it returns."""
        self.machine.root, self.machine.path, self.machine.guards = target, (), ()
        self.machine.state.clear()
        self.machine.kept.clear()
        self.machine.allocated.clear()
        self.machine.allocators.clear()
        self.machine.followed_on.clear()
        this = Object(target.owner) if target.owner and "staticmethod" not in target.decorators else None
        bound = self.bind(Frame(target.module), target, this, ([], {}))
        unknown = parameters(target, self.program.package)
        returned = self.run(
            target, this, bound | {key: unknown[key] for key in unknown if key not in {"self", "cls"}}
        )
        self._later_methods()
        return returned

    def _later_methods(self) -> None:
        """Methods that use what a constructor has kept, where they were not called by it."""
        self.machine.allocators.clear()  # what runs later does not run beside
        held: dict[Object, set[str]] = {}
        for (owner, name), values in self.machine.state.items():
            if owner.path and any(not self.machine.is_allocated(one) for one in amounts_in(values)):
                held.setdefault(owner, set()).add(name)
        for owner, names in held.items():
            for base in self.program.lineage(owner.of):
                for method in base.methods.values():
                    if (
                        method.name.startswith("__")
                        or (method, owner) in self.machine.followed_on
                        or self.program.method(owner.of, method.name) is not method
                    ):
                        continue
                    if any(_mentions_self(method, name) for name in names):
                        self.machine.path = owner.path
                        self.machine.allocators.clear()
                        self.run(method, owner, self.bind(Frame(base.module), method, owner, ([], {})))
        self.machine.path = ()

    def block(self, frame: Frame, statements: Sequence[ast.stmt]) -> None:
        """Statements in order, until one ends the branch."""
        for place, statement in enumerate(statements):
            if frame.gone or self.machine.budget < 0:
                return
            if isinstance(statement, ast.If):
                remaining = self._if(frame, statement)
                if remaining is not None:
                    with self.branch(frame, statement, statement.test, branch=remaining):
                        self.block(frame, statements[place + 1 :])
                    return
                continue
            if isinstance(statement, ast.Assert) and not self._aside:
                self.evaluate(frame, statement.test)
                with self.branch(frame, statement, statement.test, branch=True):
                    self.block(frame, statements[place + 1 :])
                return
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method:
                method(frame, statement)

    def _return(self, frame: Frame, statement: ast.Return) -> None:
        frame.returned.append(settled(self.evaluate(frame, statement.value)))
        frame.gone = True

    def _raise(self, frame: Frame, _statement: ast.Raise) -> None:
        frame.gone = True

    def _continue(self, frame: Frame, _statement: ast.stmt) -> None:
        frame.gone = True

    _break = _continue

    def _expr(self, frame: Frame, statement: ast.Expr) -> None:
        if isinstance(statement.value, ast.Yield) and statement.value.value is not None:
            frame.returned.append((Each(self.evaluate(frame, statement.value.value)),))
        elif not isinstance(statement.value, ast.Constant) and not self._aside:
            self.evaluate(frame, statement.value)

    def _global(self, frame: Frame, statement: ast.Global) -> None:
        frame.global_names |= set(statement.names)

    def _for(self, frame: Frame, statement: ast.For | ast.AsyncFor) -> None:
        sources = self.evaluate(frame, statement.iter)
        for value in sources:
            if isinstance(value, Several) and 0 < len(value.items) <= 4:
                for item in value.items:
                    self._loop_body(
                        frame,
                        statement,
                        lambda item=item: self.assign(frame, statement.target, item, statement.iter),
                    )
                return
        self._loop_body(frame, statement, lambda: self.assign_each(frame, statement.target, sources))

    _asyncfor = _for

    def _loop_body(self, frame: Frame, statement: ast.For | ast.AsyncFor | ast.While, bind: object) -> None:
        before, state = dict(frame.names), dict(self.machine.state)
        if callable(bind):
            bind()
        with self.machine.looping(statement):
            self.block(frame, statement.body)
        frame.gone = False
        frame.names = merged(before, frame.names)
        self.machine.state = merged(state, self.machine.state)
        self.block(frame, statement.orelse)

    def _while(self, frame: Frame, statement: ast.While) -> None:
        self.evaluate(frame, statement.test)
        self._loop_body(frame, statement, None)

    def _with(self, frame: Frame, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            values = self.evaluate(frame, item.context_expr)
            if item.optional_vars is not None:
                self.assign(frame, item.optional_vars, values, item.context_expr)
        self.block(frame, statement.body)

    _asyncwith = _with

    def _functiondef(self, frame: Frame, statement: FunctionNode) -> None:
        made = next((one for one in frame.module.every_function if one.node is statement), None)
        if made:
            frame.names[statement.name] = (Reference(made, None, frame.names),)
        for inner in statement.body:
            for name in inner.names if isinstance(inner, ast.Nonlocal) else ():
                frame.names[name] = tuple(
                    replace(one, moved=(*one.moved, f"{statement.name}()"))
                    if isinstance(one, Amount)
                    else one
                    for one in frame.names.get(name, ())
                )

    _asyncfunctiondef = _functiondef


def _mentions_self(method: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and isinstance(node.ctx, ast.Load)
        for node in ast.walk(method.node)
    )
