"""Calls: what is called, what its parameters become, and what becomes of a value that goes where it cannot be followed."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fleetops.source.tracing import builtin_calls, names
from fleetops.source.tracing.definitions import Class, Function, last_name
from fleetops.source.tracing.expressions import Expressions, amounts_in, elements, parameters, written
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.ranks import decorator_tests_rank
from fleetops.source.tracing.decorators import changing_decorator
from fleetops.source.tracing.values import (
    Amount,
    Call,
    Const,
    Each,
    Foreign,
    Lambda,
    Object,
    Parent,
    Partial,
    Reference,
    Several,
    Site,
    Space,
    Symbol,
    Table,
    Value,
    Values,
    union,
)

_SMALL = 14
ALONE = "one dimension"
OTHER = "something else"
_DEEP = 28
_ASIDE = 3
_CANDIDATES = 8

Arguments = tuple[list[Values], dict[str, Values]]


class Calls(Expressions):
    """Follows calls."""

    def call(self, frame: Frame, node: ast.Call) -> Values:
        """Everything that the call may give."""
        name = "" if isinstance(node.func, ast.Call) else last_name(node.func)
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

    def _arguments(self, frame: Frame, node: ast.Call) -> Arguments:
        positional: list[Values] = []
        for one in node.args:
            values = self.evaluate(frame, one)
            if isinstance(one, ast.Starred):
                positional.append((Each(union(*(elements(value) for value in values))),))
            else:
                positional.append(values)
        keywords: dict[str, Values] = {}
        for keyword in node.keywords:
            values = self.evaluate(frame, keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = values
                continue
            for value in values:
                if isinstance(value, Table):
                    keywords |= {str(key): given for key, given in value.items if str(key) not in keywords}
                    if value.other:
                        keywords["**"] = value.other
        return positional, keywords

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
        if size := names.group_size(node, self.program.package):
            return (size,)
        if name == "getattr" and (member := self._member_by_name(frame, node, positional)):
            return member
        if builtin_calls.asks_by_name(name, positional) and (
            held := self._asked_by_name(frame, node, name, positional)
        ):
            return held
        if isinstance(node.func, ast.Attribute):
            return self._on_container(frame, node, node.func, arguments)
        return None

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

    def _rewrites(self, frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> bool:
        """`setattr(args, "flag", x)`, `replace(args, flag=x)`, `exec("... flag ...")`: the flag's field is written."""
        positional, keywords = arguments
        flag = self.machine.flag
        if name in {"setattr", "__setattr__"} and len(positional) >= 3:
            owners, keys, values = positional[-3:]
            if Const(flag) in keys and any(self.is_declared_on(owner) for owner in owners):
                self.override(frame, node, values)
                return True
            for key in keys:
                if isinstance(key, Const) and isinstance(key.value, str):
                    for amount in amounts_in(values):
                        self.hold(Field(key.value, amount))
                    return bool(amounts_in(values))
        if name in {"replace", "_replace", "evolve", "model_copy", "update"} and flag in keywords:
            self.override(frame, node, keywords[flag])
            return True
        if name in {"exec", "eval"} and any(
            isinstance(one, Const) and isinstance(one.value, str) and flag in one.value
            for one in union(*positional)
        ):
            for held in self.machine.fields[flag][:1]:
                self.lose(frame, node, held.amount, f"{name} cannot be followed")
            return True
        return False

    def override(self, frame: Frame, node: ast.AST, values: Values) -> None:
        """The flag's own field is written: nothing new where it is given its own value, or switched off."""
        amounts = amounts_in(values)
        held = [
            one.amount
            for one in self.machine.fields[self.machine.flag]
            if one.owner in (None, *self.machine.declared)
        ]
        if all(isinstance(one, Symbol) and one.parameter == self.machine.flag for one in values):
            return  # its own value, by a parameter of its name
        off = (Const(None), Const(0))
        others = [one for one in values if not isinstance(one, Amount | Symbol) and one not in off]
        if amounts and all(amount in held for amount in amounts) and not others:
            return
        place = (frame.module.file, getattr(node, "lineno", 0))
        if place in self.machine.applied:
            return
        step = self.machine.step(frame, node, "arithmetic", "the flag itself is written")
        self.machine.overrides.append(
            self.machine.met(
                amounts[0] if amounts else Amount(), step, frame, "" if len(amounts) == len(values) else OTHER
            )
        )

    def is_declared_on(self, owner: Value) -> bool:
        """Whether this may be the object that holds the flag itself."""
        if isinstance(owner, Object):
            return any(self.program.related(owner.of, one) for one in self.machine.declared)
        return isinstance(owner, Symbol)

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
            key = keys[0].value if keys and isinstance(keys[0], Const) else "another setting"
            self.machine.notes.append(f"{key} may take its place where it is set")
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
                    self.hold(Field(key, amount))

    def hold(self, field: Field) -> None:
        """A field has been given the value."""
        if field not in self.machine.found:
            self.machine.found.append(field)

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
                self.lose(
                    frame, node, amount, f"{target.title} is changed by {changed}, which cannot be followed"
                )
        bound = self.bind(frame, target, this, arguments, callee.scope)
        with self._decorated(frame, node, target):
            found = self._followed(target, this, bound) if matters else self._looked_at(target, this, bound)
        return self._result(plain, found)

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
    def _decorated(self, frame: Frame, node: ast.AST, target: Function) -> Iterator[None]:
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
            return self.run(target, this, bound)
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
        return bound is not None and any(
            owner == bound and any(not self.machine.is_allocated(one) for one in amounts_in(values))
            for (owner, _), values in self.machine.state.items()
        )

    def bind(
        self,
        frame: Frame,
        target: Function,
        this: Object | None,
        arguments: Arguments,
        scope: object = None,
    ) -> dict[str, Values]:
        """The callee's variables: what it was given, else its defaults, else unknown."""
        positional, keywords = list(arguments[0]), dict(arguments[1])
        spec = target.node.args
        order = [*spec.posonlyargs, *spec.args]
        bound = dict(scope) if isinstance(scope, dict) else {}
        bound |= parameters(target, self.program.package)
        defaults = Frame(target.module)
        for parameter, default in zip(reversed(order), reversed(spec.defaults), strict=False):
            bound[parameter.arg] = self.evaluate(defaults, default)
        for parameter, given in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if given is not None:
                bound[parameter.arg] = self.evaluate(defaults, given)
        if "classmethod" in target.decorators and order and target.owner:
            bound[order[0].arg] = (Reference(this.of if this else target.owner),)
            order = order[1:]
        elif this is not None and order and target.owner:
            bound[order[0].arg] = (this,)
            order = order[1:]
        elif (
            target.owner
            and order
            and "staticmethod" not in target.decorators
            and order[0].arg in {"self", "cls"}
        ):
            order = order[1:]
        self._fill(target, bound, order, positional)
        named = {one.arg: one for one in (*order, *spec.kwonlyargs)}
        rest = {}
        for key, values in keywords.items():
            if key in named:
                bound[key] = self._handed(target, named[key], values)
            else:
                rest[key] = values
        if self.machine.flag in rest and not amounts_in(rest[self.machine.flag]):
            self.override(frame, target.node, rest[self.machine.flag])
        if spec.kwarg:
            bound[spec.kwarg.arg] = (
                Table(tuple((key, values) for key, values in rest.items() if key != "**")),
            )
        return bound

    def _fill(
        self, target: Function, bound: dict[str, Values], order: list[ast.arg], positional: list[Values]
    ) -> None:
        """Positional arguments; what is left over goes to `*args`."""
        for parameter, values in zip(order, positional, strict=False):
            bound[parameter.arg] = self._handed(target, parameter, values)
        if vararg := target.node.args.vararg:
            rest = positional[len(order) :]
            unpacked = [one for values in rest for one in values if isinstance(one, Each)]
            bound[vararg.arg] = tuple(unpacked[:1]) if unpacked else (Several(tuple(rest)),)

    def _handed(self, target: Function, parameter: ast.arg, values: Values) -> Values:
        """An argument as its parameter: amounts note the hop, symbols keep what is known of them."""
        step = self.machine.step(
            Frame(target.module), parameter, "argument", f"of {target.title}", parameter.arg
        )
        return tuple(one.after(step) if isinstance(one, Amount) else one for one in values)

    def _construct(self, frame: Frame, node: ast.Call, of: Class, arguments: Arguments) -> Values:
        made = Object(of, self.machine.path)
        given = amounts_in(union(*arguments[0], *arguments[1].values()))
        written = arguments[1].get(self.machine.flag, ())
        if amounts_in(written) and any(self.program.related(of, one) for one in self.machine.declared):
            self.override(frame, node, written)
        start = self.program.method(of, "__init__")
        if not given and (start is None or start not in self.machine.interesting):
            return (made,)
        self._must_be_plain(frame, node, of, start, given)
        if start is None:
            self._fields(frame, node, made, arguments)
        else:
            self.run(start, made, self.bind(frame, start, made, arguments))
        return (made,)

    def _must_be_plain(
        self, frame: Frame, node: ast.Call, of: Class, start: Function | None, given: list[Amount]
    ) -> None:
        """A class that is made or changed by something else is not what its statement says."""
        changed = changing_decorator(of.node, of.module, self.program)
        changed = changed or (changing_decorator(start.node, start.module, self.program) if start else "")
        if self.program.method(of, "__new__") and not changed:
            changed = "__new__"
        for amount in given if changed else ():
            self.lose(frame, node, amount, f"{of.name} is changed by {changed}, which cannot be followed")

    def _fields(self, frame: Frame, node: ast.Call, made: Object, arguments: Arguments) -> None:
        """A dataclass or the like: its annotated names are its parameters."""
        order = [name for base in reversed(self.program.lineage(made.of)) for name in base.annotated]
        given = dict(zip(order, arguments[0], strict=False)) | arguments[1]
        if not order:
            for amount in amounts_in(union(*arguments[0], *arguments[1].values())):
                self.lose(frame, node, amount, f"{made.of.name} has no constructor that could be read")
            return
        for name, values in given.items():
            self.machine.state[made, name] = values
            for amount in amounts_in(values):
                self.hold(Field(name, amount, made.of))
        after = self.program.method(made.of, "__post_init__")
        if after:
            self.run(after, made, {"self": (made,)})

    def _unknown(self, frame: Frame, node: ast.Call, callee: Value, arguments: Arguments) -> Values:
        """A callee outside the package, or one that cannot be told."""
        positional, keywords = arguments
        name = ("" if isinstance(node.func, ast.Call) else last_name(node.func)) or _said(callee)
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
            return (replace(names.symbol(text, name, self.program.package)),)
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
            self.lose(frame, node, amount, why)
        return (Symbol(text),)

    def _allocated(
        self, frame: Frame, node: ast.Call, positional: list[Values], amounts: list[Amount]
    ) -> None:
        """Memory is taken. One number for each (a table of what is free) is not what the amount is for."""
        first = positional[0] if positional else ()
        alone = any(
            isinstance(one, Amount) or (isinstance(one, Several) and len(one.items) == 1) for one in first
        )
        told = [value for one in node.keywords for value in self.evaluate(frame, one.value)]
        by_rank = any(isinstance(one, Symbol) and one.rank_test for one in told)
        for amount in amounts:
            step = self.machine.step(frame, node, "allocation", "allocates", written(node))
            taken = replace(amount, ranks=f"{frame.module.file}:{node.lineno}") if by_rank else amount
            if taken.site is None:
                name = frame.function.owner.name if frame.function and frame.function.owner else frame.title
                place = Site(
                    module=frame.module,
                    line=node.lineno,
                    text=written(node),
                    name=name,
                    path=self.machine.path,
                    guards=self.machine.guards,
                    loops=self.machine.loops,
                    root=self.machine.root,
                )
                taken = replace(taken, site=place)
            self.machine.allocations.append(self.machine.met(taken, step, frame, ALONE if alone else ""))
            if taken.site and not (alone and any(under.counts_bytes for under in taken.over)):
                self.machine.allocated.add((taken.site, taken.site.path))

    def lose(self, frame: Frame, node: ast.AST, amount: Amount, why: str) -> None:
        """The value goes where it cannot be followed."""
        self.machine.losses.append(
            self.machine.met(amount, self.machine.step(frame, node, "argument"), frame, why)
        )

    def run(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        """Follow a function with its variables bound."""
        raise NotImplementedError


def _objects(values: Values) -> list[Object]:
    return [one for one in values if isinstance(one, Object)]


def _said(callee: Value) -> str:
    if isinstance(callee, Foreign):
        return callee.dotted.rpartition(".")[2]
    return callee.text if isinstance(callee, Symbol) else ""
