"""Statements: which branch is taken, what is assigned, what is returned."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fleetops.source.tracing.calls import Calls
from fleetops.source.tracing.definitions import Class, Function, FunctionNode, last_name
from fleetops.source.tracing.expressions import amounts_in, elements, limited, parameters, written
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.names import counts_bytes
from fleetops.source.tracing.values import (
    Amount,
    Const,
    Each,
    Object,
    Reference,
    Several,
    Symbol,
    Table,
    Value,
    Values,
    union,
)

State = dict[tuple[Object, str], Values]


class Statements(Calls):
    """Follows whole functions."""

    def run(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        """Everything that it may return; its effects are in the machine."""
        frame = Frame(target.module, target, this, bound)
        self.machine.stack.append(target)
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
        self.machine.allocated.clear()
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
        held: dict[Object, set[str]] = {}
        for (owner, name), values in self.machine.state.items():
            if owner.path and any(not self.machine.is_allocated(one) for one in amounts_in(values)):
                held.setdefault(owner, set()).add(name)
        for owner, names in held.items():
            for base in self.program.lineage(owner.of):
                for method in base.methods.values():
                    if (
                        method.name.startswith("__")
                        or self.program.method(owner.of, method.name) is not method
                    ):
                        continue
                    if any(_mentions_self(method, name) for name in names):
                        self.machine.path = owner.path
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

    def _if(self, frame: Frame, statement: ast.If) -> bool | None:
        """Both branches, or the one that is taken. Returns the way in which the rest is reached, where one has ended."""
        self.evaluate(frame, statement.test)
        verdict = self.decide(frame, statement.test)
        if verdict is not None:
            self.block(frame, statement.body if verdict else statement.orelse)
            return None
        before, state = dict(frame.names), dict(self.machine.state)
        with self.branch(frame, statement, statement.test, branch=True):
            self.block(frame, statement.body)
        first = (frame.names, self.machine.state, frame.gone)
        frame.names, self.machine.state, frame.gone = dict(before), dict(state), False
        with self.branch(frame, statement, statement.test, branch=False):
            self.block(frame, statement.orelse)
        second = (frame.names, self.machine.state, frame.gone)
        if first[2] and second[2]:
            frame.gone = True
            return None
        if first[2] or second[2]:
            frame.names, self.machine.state, frame.gone = second if first[2] else first
            return not first[2]
        if _is_floor(statement):
            _mark_floor(first[0], second[0], written(statement.test))
            _mark_floor(first[1], second[1], written(statement.test))
        if self.tests_rank(frame, statement.test):
            place = f"{frame.module.file}:{statement.lineno}"
            for one, other in ((first[0], second[0]), (first[1], second[1])):
                _limit(one, other, place)
        frame.names, self.machine.state = _merged(first[0], second[0]), _merged(first[1], second[1])
        return None

    def decide(self, frame: Frame, test: ast.expr) -> bool | None:
        """Which way a test goes when the flag is set to a positive number; None where that is not known."""
        if isinstance(test, ast.BoolOp):
            parts = [self.decide(frame, value) for value in test.values]
            settling = isinstance(test.op, ast.Or)
            if settling in parts:
                return settling
            return None if None in parts else not settling
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decide(frame, test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(frame, test)
        if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
            return False
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance":
            return self._is_instance(frame, test)
        verdicts = {_truth(value) for value in self.evaluate(frame, test)}
        return verdicts.pop() if len(verdicts) == 1 else None

    def _compared(self, frame: Frame, test: ast.Compare) -> bool | None:
        lefts, rights = self.evaluate(frame, test.left), self.evaluate(frame, test.comparators[0])
        verdicts = {_comparison(test.ops[0], left, right) for left in lefts for right in rights}
        return verdicts.pop() if len(verdicts) == 1 else None

    def _is_instance(self, frame: Frame, test: ast.Call) -> bool | None:
        if len(test.args) != 2:
            return None
        objects, classes = (self.evaluate(frame, one) for one in test.args)
        wanted = [one for value in classes for one in (elements(value) or (value,))]
        if not all(isinstance(one, Object) for one in objects) or not all(
            isinstance(one, Reference) and isinstance(one.target, Class) for one in wanted
        ):
            return None
        verdicts = {
            any(isinstance(one, Reference) and one.target in self.program.lineage(thing.of) for one in wanted)
            for thing in objects
            if isinstance(thing, Object)
        }
        return verdicts.pop() if len(verdicts) == 1 else None

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
            self._assign_attribute(frame, target, values, source)
        elif isinstance(target, ast.Subscript):
            self._assign_item(frame, target, values)

    def _assign_name(self, frame: Frame, name: str, values: Values, source: ast.expr) -> None:
        if name in frame.global_names or frame.function is None:
            for amount in amounts_in(values):
                self.hold(Field(name, amount, variable_of=frame.module))
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
            name = written(inner)
            self.assign(frame, inner, union(*found) or (Symbol(name),), source)

    def assign_each(self, frame: Frame, target: ast.expr, sources: Values) -> None:
        """A loop's variable."""
        items = union(*(elements(one) for one in sources))
        names = [one.name for one in sources if isinstance(one, Each) and one.name]
        if names and not amounts_in(items) and isinstance(target, ast.Name):
            # one of them, and so a summand of their sum
            items = tuple(
                Symbol(names[0], one.parallel, one.counts_bytes) if isinstance(one, Symbol) else one
                for one in items
            )
            items = items or (Symbol(names[0]),)
        self.assign(frame, target, items or (Symbol(written(target)),), target)

    def _assign_attribute(
        self, frame: Frame, target: ast.Attribute, values: Values, source: ast.expr
    ) -> None:
        amounts = amounts_in(values)
        for owner in self.evaluate(frame, target.value):
            if isinstance(owner, Object):
                self.machine.state[owner, target.attr] = called(f"self.{target.attr}", values)
            if target.attr == self.machine.flag and self.is_declared_on(owner):
                self.override(frame, target, values)
                continue
            for amount in amounts:
                self.hold(Field(target.attr, amount, owner.of if isinstance(owner, Object) else None))

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
            items = union(*(elements(one) for one in before), values)
            frame.names[target.value.id] = (Each(items, target.value.id),)
            return
        if key == self.machine.flag and last_name(target.value) in {"__dict__", "vars"}:
            self.override(frame, target, values)
            return
        for amount in amounts_in(values):
            if isinstance(key, str):
                self.hold(Field(key, amount))

    def _return(self, frame: Frame, statement: ast.Return) -> None:
        frame.returned.append(self.evaluate(frame, statement.value))
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
        frame.names = _merged(before, frame.names)
        self.machine.state = _merged(state, self.machine.state)
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

    def _try(self, frame: Frame, statement: ast.Try) -> None:
        before = dict(frame.names)
        self.block(frame, statement.body)
        ended, names = frame.gone, frame.names
        reached = [] if ended else [names]
        for handler in statement.handlers:
            frame.names, frame.gone = _merged(before, names), False
            self.block(frame, handler.body)
            if not frame.gone:
                reached.append(frame.names)
        frame.gone = not reached
        frame.names = reached[0] if reached else names
        for more in reached[1:]:
            frame.names = _merged(frame.names, more)
        if not frame.gone:
            self.block(frame, statement.orelse)
        gone, frame.gone = frame.gone, False
        self.block(frame, statement.finalbody)
        frame.gone = gone or frame.gone

    _trystar = _try

    def _match(self, frame: Frame, statement: ast.Match) -> None:
        self.evaluate(frame, statement.subject)
        before, reached = dict(frame.names), [frame.names]
        for case in statement.cases:
            frame.names, frame.gone = dict(before), False
            taken = ast.copy_location(
                ast.Compare(statement.subject, [ast.Eq()], [ast.Constant(0)]), statement
            )
            with self.branch(frame, case, taken, branch=True):
                self.block(frame, case.body)
            if not frame.gone:
                reached.append(frame.names)
        frame.gone = False
        for more in reached:
            frame.names = _merged(frame.names, more)

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


def _truth(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Amount | Reference | Object):
        return True
    return None


def _comparison(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """With the flag positive, every amount of it is positive too."""
    if isinstance(op, ast.Is | ast.IsNot):
        verdict = _is(left, right)
        return verdict if verdict is None or isinstance(op, ast.Is) else not verdict
    if isinstance(left, Const) and isinstance(right, Const):
        if isinstance(op, ast.Eq | ast.NotEq):
            return (left.value == right.value) is isinstance(op, ast.Eq)
        return None
    if isinstance(left, Amount) and isinstance(right, Const) and right.value in (0, None, -1):
        return isinstance(op, ast.Gt | ast.GtE | ast.NotEq)
    if isinstance(right, Amount) and isinstance(left, Const) and left.value in (0, None, -1):
        return isinstance(op, ast.Lt | ast.LtE | ast.NotEq)
    return None


def _is(left: Value, right: Value) -> bool | None:
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value is right.value
    known = Amount | Reference | Object | Several | Table
    if isinstance(right, Const) and right.value is None and isinstance(left, known):
        return False
    return None


def called(name: str, values: Values) -> Values:
    """What a variable holds: a computed symbol is spoken of by the variable from then on."""
    found = tuple(
        Each(one.item, name) if isinstance(one, Each) and not one.name else _named(one, name)
        for one in values
    )
    if len(found) > 1 and all(isinstance(one, Symbol) for one in found) and _IS_PAGE.search(name):
        return (Symbol(name),)
    return union(found)


# A page is what sizes are rounded to: whatever it is, it does not change an amount.
_IS_PAGE = re.compile(r"(^|\.)(page_size|page_len|tokens_per_page)$")


def _named(value: Value, name: str) -> Value:
    if not isinstance(value, Symbol) or value.parameter:
        return value
    if _IS_PAGE.search(name):
        return Symbol(name)
    terms = value.terms | ({value.text} if value.terms else frozenset())
    return replace(value, text=name, terms=terms, counts_bytes=value.counts_bytes or counts_bytes(name))


def _limit(first: dict[Any, Values], second: dict[Any, Values], place: str) -> None:
    """What differs between two ways that ranks go is not given to all of them."""
    for key in set(first) | set(second):
        amounts = [set(amounts_in(one.get(key, ()))) for one in (first, second)]
        if amounts[0] != amounts[1]:
            for one in (first, second):
                if key in one:
                    one[key] = limited(one[key], place)


def _is_floor(statement: ast.If) -> bool:
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


def _mark_floor(changed: dict[Any, Values], kept: dict[Any, Values], test: str) -> None:
    """What was an amount and has become something else where it was too small."""
    for key, values in kept.items():
        if changed.get(key) != values and amounts_in(values) and not amounts_in(changed.get(key, ())):
            kept[key] = tuple(
                replace(one, moved=(*one.moved, f"what stands in its place if {test}"))
                if isinstance(one, Amount)
                else one
                for one in values
            )


def _replaced(values: Values) -> Values:
    """An amount in place of which another number may stand is not the flag's any more."""
    numbers = [one for one in values if isinstance(one, Const) and _is_size(one.value)]
    if not numbers or not any(isinstance(one, Amount) for one in values):
        return values
    said = f"{numbers[0].value} in its place"
    return tuple(replace(one, moved=(*one.moved, said)) if isinstance(one, Amount) else one for one in values)


def _is_size(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1, -1)


def _merged(first: Mapping, second: Mapping) -> dict:
    """Variables after two branches: everything that each may hold."""
    merged = dict(first)
    for key, values in second.items():
        merged[key] = (
            _replaced(union(merged[key], values)) if key in merged and merged[key] != values else values
        )
    return merged


def _loaded(target: ast.expr) -> ast.expr:
    """The target of `x += 1`, to be read."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return target


def _mentions_self(method: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and isinstance(node.ctx, ast.Load)
        for node in ast.walk(method.node)
    )
