"""Calls: what is called, whether it is followed, and what it gives back."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fleetops.source.tracing import builtin_calls, names
from fleetops.source.tracing.amounts import Call, Symbol
from fleetops.source.tracing.decorators import changing_decorator
from fleetops.source.tracing.definitions import Class, Function, callee_name
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.outside import Outside
from fleetops.source.tracing.ranks import decorator_tests_rank
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import (
    Arguments,
    Const,
    Lambda,
    Object,
    Parent,
    Partial,
    Reference,
    Table,
    Value,
    Values,
    amounts_in,
    handed_up,
    union,
)

# Of a function that has nothing to do with the value: the most statements, and calls away, to be looked into.
_SMALL, _ASIDE = 14, 3
_DEEP = 28  # calls on the stack
_CANDIDATES = 8  # methods of one name, for an object of which nothing is known


class Calls(Outside):
    """Follows calls."""

    def call(self, frame: Frame, node: ast.Call) -> Values:
        """Everything that the call may give."""
        name = callee_name(node)
        if name == "super" and isinstance(node.func, ast.Name) and frame.this and frame.function:
            return self._parent(frame)
        arguments = self._arguments(frame, node)
        if (own := self._own_way(frame, node, name, arguments)) is not None:
            return own
        callees = self._callees(frame, node, arguments)
        found: list[Values] = []
        for choice, callee in enumerate(callees):
            with self.machine.called(Call(node, choice)):
                found.append(self._one(frame, node, callee, arguments))
        return union(*found)

    def _parent(self, frame: Frame) -> Values:
        owner = frame.function.owner if frame.function else None
        outer = frame.function
        while owner is None and outer is not None and outer.outer is not None:
            outer = outer.outer
            owner = outer.owner
        if owner is None or frame.this is None:
            return ()
        return (Parent(frame.this, owner),)

    def _own_way(self, frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Values | None:
        """Python's own functions, dictionary look-ups, and methods of the value itself; None for everything else."""
        positional, keywords = arguments
        text = written(node)
        if (size := names.counted(node)) is not None:
            return (size,)
        if self._rewrites(frame, node, name, arguments):
            return (Symbol(text),)
        if isinstance(node.func, ast.Name) and node.func.id not in frame.names:
            made = builtin_calls.of_sequences(name, positional, text)
            if made is not None:
                return made
            if name == "dict":
                table = [one for values in positional for one in values if isinstance(one, Table)]
                items = {key: values for one in table for key, values in one.items} | keywords
                return (Table(tuple(items.items())),)
        if size := names.group_size(node):
            return (size,)
        if name == "getattr" and (member := self._member_by_name(frame, node, positional)):
            # what is assigned somewhere may not have been yet
            return member if amounts_in(member) else union(member, *positional[2:3])
        if builtin_calls.asks_by_name(name, positional) and (
            held := self._asked_by_name(frame, node, name, positional)
        ):
            return held
        if isinstance(node.func, ast.Attribute):
            return self._on_container(frame, node, node.func, arguments)
        return None

    def _callees(self, frame: Frame, node: ast.Call, arguments: Arguments) -> list[Value]:
        """What may be called. A method of an unknown object is looked for by its name where that matters."""
        found = list(self.evaluate(frame, node.func))
        if not isinstance(node.func, ast.Attribute) or not any(isinstance(one, Symbol) for one in found):
            return found
        given = union(*arguments[0], *arguments[1].values())
        name = node.func.attr
        matters = amounts_in(given) or any(one.name == name for one in self.machine.interesting)
        if not matters or builtin_calls.only_looks(name):
            return found
        methods = self.program.methods_named.find(name)
        if not 0 < len(methods) <= _CANDIDATES:
            return found
        return [
            Reference(one, None if "staticmethod" in one.decorators else Object(one.owner, self.machine.path))
            for one in methods
            if one.owner
        ]

    def _one(self, frame: Frame, node: ast.Call, callee: Value, arguments: Arguments) -> Values:
        if isinstance(callee, Partial):
            positional, keywords = arguments
            given = [*callee.arguments, *positional], dict(callee.keywords) | keywords
            return self._one(frame, node, callee.callee, given)
        if isinstance(callee, Lambda):
            return self._lambda_call(callee, arguments)
        if isinstance(callee, Reference) and isinstance(callee.target, Class):
            return self._construct(frame, node, callee.target, arguments)
        if isinstance(callee, Reference) and isinstance(callee.target, Function):
            return self._function(frame, node, callee, callee.target, arguments)
        if isinstance(callee, Object):
            method = self.program.method(callee.of, "__call__")
            if method:
                return self._function(frame, node, Reference(method, callee), method, arguments)
        return self._unknown(frame, node, callee, arguments)

    def _lambda_call(self, callee: Lambda, arguments: Arguments) -> Values:
        spec = callee.node.args
        inner = Frame(callee.module, names=dict(callee.scope))
        for parameter, values in zip(spec.args, arguments[0], strict=False):
            inner.names[parameter.arg] = values
        inner.names |= {key: values for key, values in arguments[1].items() if key != "**"}
        return self.evaluate(inner, callee.node.body)

    def _function(
        self, frame: Frame, node: ast.AST, callee: Reference, target: Function, arguments: Arguments
    ) -> Values:
        """Followed where it matters; else what its name says of its result."""
        given = union(*arguments[0], *arguments[1].values(), *(callee.scope or {}).values())
        matters = bool(amounts_in(given)) or target in self.machine.interesting or self._carries(callee.bound)
        matters = matters or self.machine.flag in arguments[1]
        text = written(node)
        plain = names.symbol(text, target.name, self.program.package)
        small = matters or (len(target.node.body) <= _SMALL and self._aside < _ASIDE)
        if not small or len(self.machine.stack) >= _DEEP or self.machine.stack.count(target) >= 2:
            return (plain,)
        this = callee.bound
        if (
            this is None
            and target.owner
            and arguments[0]
            and not {"staticmethod", "classmethod"} & set(target.decorators)
        ):
            this = next(iter(_objects(arguments[0][0])), None)  # `Base.method(self, ...)`
            if this is not None:
                arguments = (arguments[0][1:], arguments[1])
        if matters and (changed := changing_decorator(target.node, target.module, self.program)):
            for amount in amounts_in(given):
                self.machine.lose(
                    frame, node, amount, f"{target.title} is changed by {changed}, which cannot be followed"
                )
        if not matters and this is not None:
            self._again(frame, node, target, this)
        bound = self.bind(frame, target, this, arguments, callee.scope)
        with self._decorated(node, target):
            found = self._followed(target, this, bound) if matters else self._looked_at(target, this, bound)
        return self._result(plain, found)

    def _again(self, frame: Frame, node: ast.AST, target: Function, this: Object) -> None:
        """A method that has allocated for this object, called once more on the same way."""
        if not any(function is target for function, _ in self.machine.allocators):
            return
        ways = {(guard.path, guard.text): guard.branch for guard in self.machine.guards}
        for amount in self.machine.amounts_kept(this):
            made_here = amount.site is not None and amount.site.path[: len(this.path)] == this.path
            before = self.machine.allocators.get((target, amount.site.path)) if amount.site else None
            if (
                before is None
                or not made_here
                or any(
                    ways.get((guard.path, guard.text), guard.branch) is not guard.branch for guard in before
                )
            ):
                continue
            step = self.machine.step(frame, node, "allocation", "allocates again")
            self.machine.repeated.append(self.machine.met(amount, step, frame))
            return

    def _result(self, plain: Symbol, found: Values) -> Values:
        """What the name says and what the body says, together."""
        telling = [
            one
            for one in found
            if not isinstance(one, Symbol | Const)
            or (
                isinstance(one, Symbol)
                and (one.parallel or one.counts_bytes or one.rank_test or one.terms or one.factor != 1)
            )
        ]
        if plain.parallel and not amounts_in(found):
            return (plain,)
        if not telling:
            return found if all(isinstance(one, Const) for one in found) else (plain,)
        if plain.counts_bytes:
            return tuple(
                replace(one, counts_bytes=True) if isinstance(one, Symbol) else one for one in telling
            )
        return found

    @contextmanager
    def _decorated(self, node: ast.AST, target: Function) -> Iterator[None]:
        """A decorator may let the function run on some ranks only."""
        if not target.node.decorator_list or not decorator_tests_rank(target, self.program):
            yield
            return
        test = target.node.decorator_list[0]
        with self.machine.guarded(Frame(target.module, target), node, test, branch=True, ranks=True):
            yield

    def _followed(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        before, self._aside = self._aside, 0
        try:
            return handed_up(self.run(target, this, bound), len(self.machine.stack))
        finally:
            self._aside = before

    def _looked_at(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        """A function that has nothing to do with the value, for what it returns; the same again is not run again."""
        key = (target, this.of if this else None, tuple(bound.items()))
        if key not in self.machine.results:
            self._aside += 1
            try:
                self.machine.results[key] = self.run(target, this, bound)
            finally:
                self._aside -= 1
        return self.machine.results[key]

    def _carries(self, bound: Object | None) -> bool:
        """Whether an object under construction holds an amount that nothing has been allocated for yet."""
        return bound is not None and not all(map(self.machine.is_allocated, self.machine.amounts_kept(bound)))


def _objects(values: Values) -> list[Object]:
    return [one for one in values if isinstance(one, Object)]
