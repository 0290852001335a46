"""What expressions stand for."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from fleetops.source.packages.base import Package
from fleetops.source.tracing import names
from fleetops.source.tracing.arithmetic import combine, say_factor
from fleetops.source.tracing.definitions import Class, Function, Module, last_name
from fleetops.source.tracing.guards import restricts
from fleetops.source.tracing.machine import Field, Frame, Machine
from fleetops.source.tracing.ranks import hides_rank_test
from fleetops.source.tracing.program import Broken, Definition, External, Variable
from fleetops.source.tracing.values import (
    Amount,
    Const,
    Each,
    Foreign,
    Lambda,
    Object,
    Parent,
    Reference,
    Several,
    Site,
    Space,
    Symbol,
    Table,
    Value,
    Values,
    amounts_in,
    union,
    unparsed,
)

_TEXT = 90
_DEEP = 40


def written(node: ast.AST) -> str:
    """The source of a node on one line, cut where it is long."""
    text = " ".join(unparsed(node).split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


class Expressions(ABC):
    """Evaluates expressions to everything that they may stand for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.program = machine.program
        self._looking_up: set[tuple[int, str]] = set()
        self._aside = 0

    @abstractmethod
    def call(self, frame: Frame, node: ast.Call) -> Values:
        """A call's result."""

    @abstractmethod
    def invoke(self, frame: Frame, node: ast.AST, target: Function, this: Object | None) -> Values:
        """A call of a function of this package without arguments (a property)."""

    def evaluate(self, frame: Frame, node: ast.expr | None) -> Values:
        """Everything that the expression may stand for; never empty."""
        if node is None:
            return (Const(None),)
        self.machine.budget -= 1
        if self.machine.budget < 0:
            return (Symbol(written(node)),)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        found: Values = method(frame, node) if method else self._anything(frame, node)
        return found or (Symbol(written(node)),)

    def _anything(self, frame: Frame, node: ast.expr) -> Values:
        """A form that carries no amount on (a formatted string, a set, ...): looked into, for what is called in it."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(frame, child)
        return (Symbol(written(node)),)

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
        known = tuple(plain if isinstance(one, Symbol) and not one.parallel else one for one in found)
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
            return self._of_reference(frame, owner.target, name)
        if fields := self._read(frame, node, owner):
            return fields
        return (self._symbol(node, owner),)

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
                    known = parameters(method, self.program.package)
                    found.append(self.evaluate(Frame(base.module, method, names=known), value))
                if found:
                    break
        finally:
            self._looking_up.discard(key)
        text = f"self.{name}"
        self.machine.results[key] = tuple(
            names.symbol(text, name, self.program.package)
            if isinstance(one, Symbol) and not (one.parallel or one.counts_bytes or one.rank_test)
            else one
            for one in union(*found)
            if not isinstance(one, Const) or one.value is not None
        )
        return self.machine.results[key]

    def _of_reference(self, frame: Frame, of: Class, name: str) -> Values:
        if method := self.program.method(of, name):
            bound = Object(of, self.machine.path) if "classmethod" in method.decorators else None
            return (Reference(method, bound),)
        if name in of.classes:
            return (Reference(of.classes[name]),)
        for base in self.program.lineage(of):
            if base.fields.get(name) is not None:
                return self.evaluate(Frame(base.module), base.fields[name])
        del frame
        return ()

    def _read(self, frame: Frame, node: ast.Attribute, owner: Value) -> Values:
        """Amounts held in fields of that name, where `owner` may be what holds them."""
        held = [
            one
            for one in self.machine.fields.get(node.attr, ())
            if one.variable_of is None and self._may_hold(owner, one)
        ]
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

    def _foreign(self, dotted: str, name: str) -> Value:
        classified = names.symbol(f"{dotted}.{name}", name, self.program.package)
        return Foreign(f"{dotted}.{name}") if not classified.parallel else classified

    def _symbol(self, node: ast.expr, owner: Value) -> Symbol:
        text = written(node)
        del owner
        return names.group_size(node, self.program.package) or names.symbol(
            text, last_name(node), self.program.package
        )

    def _subscript(self, frame: Frame, node: ast.Subscript) -> Values:
        keys = self.evaluate(frame, node.slice) if not isinstance(node.slice, ast.Slice) else ()
        found: list[Values] = []
        for owner in self.evaluate(frame, node.value):
            found.append(self._item(frame, node, owner, keys))
        return union(*found)

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
        return (Symbol(written(node)),)

    def keyed(self, frame: Frame, node: ast.AST, key: str) -> Values:
        """Amounts held under a dictionary's key (or in an attribute that is asked for by its name)."""
        held = [one for one in self.machine.fields.get(key, ()) if one.variable_of is None]
        return tuple(one.amount.after(self.machine.step(frame, node, "read")) for one in held)

    def _binop(self, frame: Frame, node: ast.BinOp) -> Values:
        lefts, rights = self.evaluate(frame, node.left), self.evaluate(frame, node.right)
        text = written(node)
        found: list[Value] = []
        for left in lefts:
            for right in rights:
                made = self._sequence(left, right) if isinstance(node.op, ast.Add) else None
                made = made or combine(node.op, plain(left), plain(right), text)
                found.append(self._sited(frame, node, left, right, made or Symbol(text)))
        return union(found)

    def _sequence(self, left: Value, right: Value) -> Value | None:
        """Lists and tuples that are joined."""
        if isinstance(left, Several) and isinstance(right, Several):
            return Several((*left.items, *right.items))
        if isinstance(left, Several | Each) and isinstance(right, Several | Each):
            return Each(
                union(*(one.items if isinstance(one, Several) else (one.item,) for one in (left, right)))
            )
        return None

    def _sited(self, frame: Frame, node: ast.BinOp, left: Value, right: Value, made: Value) -> Value:
        """Notes where a bare number becomes an amount of something, and what each operation does to it."""
        before = left if isinstance(left, Amount) else right
        if not isinstance(made, Amount) or not isinstance(before, Amount):
            return made
        note = _note(before, made)
        step = self.machine.step(frame, node, "arithmetic", note)
        if not _is_amount_of_something(made):
            made = replace(made, site=None)
        elif made.site is None:
            name = frame.function.owner.name if frame.function and frame.function.owner else frame.title
            site = Site(
                module=frame.module,
                line=node.lineno,
                text=written(node),
                name=name,
                path=self.machine.path,
                guards=self.machine.guards,
                loops=self.machine.loops,
                root=self.machine.root,
                parallel=made.parallel,
                moved=made.moved,
                multiplies=made.coefficient == 1
                and not made.over
                and all(names.is_count(one.text) for one in made.times),
            )
            made = replace(made, site=site)
        return made.after(step) if made != before else made

    def _unaryop(self, frame: Frame, node: ast.UnaryOp) -> Values:
        inner = self.evaluate(frame, node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        if isinstance(node.op, ast.USub):
            # -(x // -n) is a division that rounds up
            return tuple(_negated(one) for one in inner)
        return (
            Symbol(written(node), rank_test=any(isinstance(one, Symbol) and one.rank_test for one in inner)),
        )

    def _boolop(self, frame: Frame, node: ast.BoolOp) -> Values:
        """Each operand is reached only where those before it let it be."""
        found: list[Values] = []
        with ExitStack() as reached:
            for value in node.values:
                found.append(self.evaluate(frame, value))
                reached.enter_context(self.branch(frame, value, value, branch=isinstance(node.op, ast.And)))
        ranks = any(isinstance(one, Symbol) and one.rank_test for values in found for one in values)
        kept = union(*found)
        sizes = [one for one in kept if isinstance(one, Symbol) and one.parallel]
        if sizes and not ranks:
            return (sizes[0],)  # `tp_size or 1`
        others = tuple(one for one in kept if not isinstance(one, Symbol))
        return others or (Symbol(written(node), rank_test=ranks),)

    def _compare(self, frame: Frame, node: ast.Compare) -> Values:
        sides = [node.left, *node.comparators]
        values = [self.evaluate(frame, side) for side in sides]
        for side in values:
            for amount in side:
                if isinstance(amount, Amount):
                    self.machine.checks.append(
                        (self.machine.met(amount, self.machine.step(frame, node, "check"), frame), node)
                    )
        against_rank = any(names.is_rank(side) for side in sides) and not any(
            isinstance(op, ast.Is | ast.IsNot) for op in node.ops
        )
        ranks = any(isinstance(one, Symbol) and one.rank_test for side in values for one in side)
        return (Symbol(written(node), rank_test=against_rank or ranks),)

    def _ifexp(self, frame: Frame, node: ast.IfExp) -> Values:
        self.evaluate(frame, node.test)
        verdict = self.decide(frame, node.test)
        found: list[Values] = []
        for branch, value in ((True, node.body), (False, node.orelse)):
            if verdict is None or verdict is branch:
                with self.branch(frame, node, node.test, branch=branch):
                    found.append(self.evaluate(frame, value))
        if (
            len(found) == 2
            and set(amounts_in(found[0])) != set(amounts_in(found[1]))
            and self.tests_rank(frame, node.test)
        ):
            place = f"{frame.module.file}:{node.lineno}"
            found = [limited(values, place) for values in found]
        return _one_or_all(union(*found))

    def tests_rank(self, frame: Frame, test: ast.expr) -> bool:
        """Whether some ranks go one way and some the other."""
        return any(restricts(test, frame.tests, branch=way, leaf=self._leaf(frame)) for way in (True, False))

    def _leaf(self, frame: Frame) -> Callable[[ast.expr], bool]:
        def leaf(one: ast.expr) -> bool:
            if isinstance(one, ast.Name | ast.Attribute):
                found = self.evaluate(frame, one)
                if any(isinstance(value, Symbol) and value.rank_test for value in found):
                    return True
            return hides_rank_test(one, frame.function, self.program)

        return leaf

    def branch(
        self, frame: Frame, node: ast.AST, test: ast.expr, *, branch: bool
    ) -> AbstractContextManager[None]:
        """While one way of a test is followed."""
        ranks = restricts(test, frame.tests, branch=branch, leaf=self._leaf(frame))
        return self.machine.guarded(frame, node, test, branch=branch, ranks=ranks)

    @abstractmethod
    def decide(self, frame: Frame, test: ast.expr) -> bool | None:
        """Which way a test goes, given that the flag is set; None where that is not known."""

    def _namedexpr(self, frame: Frame, node: ast.NamedExpr) -> Values:
        frame.names[node.target.id] = values = self.evaluate(frame, node.value)
        return values

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

    def _lambda(self, frame: Frame, node: ast.Lambda) -> Values:
        return (Lambda(node, dict(frame.names), frame.module),)

    def _call(self, frame: Frame, node: ast.Call) -> Values:
        return self.call(frame, node)

    def _starred(self, frame: Frame, node: ast.Starred) -> Values:
        return self.evaluate(frame, node.value)

    def _await(self, frame: Frame, node: ast.Await) -> Values:
        return self.evaluate(frame, node.value)

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

    @abstractmethod
    def assign_each(self, frame: Frame, target: ast.expr, sources: Values) -> None:
        """Bind a loop's variable to the items of what is gone through."""


def plain(value: Value) -> Value:
    """What arithmetic sees of a value that is neither a number nor the flag's."""
    if isinstance(value, Amount | Const | Symbol):
        return value
    if isinstance(value, Foreign):
        return Symbol(value.dotted)
    if isinstance(value, Each):
        return Symbol(value.name or "a sequence")
    return Symbol(type(value).__name__.lower())


def limited(values: Values, place: str) -> Values:
    """Amounts that only some ranks are given."""
    return tuple(replace(one, ranks=one.ranks or place) if isinstance(one, Amount) else one for one in values)


def elements(value: Value) -> Values:
    """What an item of it may be."""
    if isinstance(value, Several):
        return union(*value.items)
    if isinstance(value, Each):
        return value.item
    if isinstance(value, Table):
        return tuple(Const(key) for key, _ in value.items)
    return ()


def parameters(function: Function, package: Package) -> dict[str, Values]:
    """A function's parameters when nothing is known of its caller."""
    spec = function.node.args
    every = [
        *spec.posonlyargs,
        *spec.args,
        *spec.kwonlyargs,
        *(one for one in (spec.vararg, spec.kwarg) if one),
    ]
    return {one.arg: (replace(names.symbol(one.arg, one.arg, package), parameter=one.arg),) for one in every}


def _negated(value: Value) -> Value:
    if isinstance(value, Const) and isinstance(value.value, int | float):
        return Const(-value.value)
    return value  # an amount's sign says only which way it was rounded


def _is_amount_of_something(amount: Amount) -> bool:
    return bool(amount.coefficient != 1 or amount.times or amount.over or amount.complement)


def _note(before: Amount, made: Amount) -> str:
    """What an operation has done, in a few words."""
    notes: list[str] = []
    if made.coefficient != before.coefficient and before.coefficient:
        factor = made.coefficient / before.coefficient
        notes.append(f"x {say_factor(factor)}" if factor >= 1 else f"/ {say_factor(1 / factor)}")
    for name, power in dict(made.parallel).items():
        if dict(before.parallel).get(name) != power:
            notes.append(f"{'/' if power < 0 else 'x'} {name}")
    if made.share != before.share:
        notes.append("split in proportion")
    notes += [f"/ {one.text}" for one in made.over if one not in before.over]
    notes += [f"x {one.text}" for one in made.times if one not in before.times]
    return ", ".join(notes)


def _one_or_all(values: Values) -> Values:
    """`1 if copied else world_size`: the parallel size, where the other way there is but one of it."""
    sizes = [one for one in values if isinstance(one, Symbol) and one.parallel]
    if len(sizes) == 1 and len(values) == 2 and Const(1) in values:
        return (sizes[0],)
    return values


__all__ = ["Expressions", "amounts_in", "elements", "parameters", "plain", "written"]
