"""What a call hands over, and what it becomes: arguments bound to the parameters of a function."""

import ast
from collections.abc import Mapping

from fleetops.source.tracing.amounts import Amount
from fleetops.source.tracing.definitions import Function
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.names import parameters
from fleetops.source.tracing.rewriting import Rewriting
from fleetops.source.tracing.values import (
    Arguments,
    Each,
    Object,
    Reference,
    Several,
    Table,
    Values,
    amounts_in,
    elements,
    settled,
    union,
)


class Binding(Rewriting):
    """Evaluates the arguments of a call and binds them."""

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

    def bind(
        self,
        frame: Frame,
        target: Function,
        this: Object | None,
        arguments: Arguments,
        scope: Mapping[str, Values] | None = None,
    ) -> dict[str, Values]:
        """The callee's variables: what it was given, else its defaults, else unknown."""
        positional, keywords = arguments
        spec = target.node.args
        order = [*spec.posonlyargs, *spec.args]
        bound = {**(scope or {}), **parameters(target, self.program.package), **self._defaults(target)}
        first = _first(target, this) if order and target.owner else None
        if first is not None:
            bound |= {order[0].arg: first} if first else {}
            order = order[1:]
        self._fill(target, bound, order, positional)
        named = {one.arg: one for one in (*order, *spec.kwonlyargs)}
        bound |= {key: self._handed(target, named[key], keywords[key]) for key in keywords if key in named}
        rest = {key: values for key, values in keywords.items() if key not in named}
        if self.machine.flag in rest and not amounts_in(rest[self.machine.flag]):
            self.override(frame, target.node, rest[self.machine.flag])
        if spec.kwarg:
            bound[spec.kwarg.arg] = (
                Table(tuple((key, values) for key, values in rest.items() if key != "**")),
            )
        return bound

    def _defaults(self, target: Function) -> dict[str, Values]:
        """What its parameters are where the caller gives nothing."""
        spec, frame = target.node.args, Frame(target.module)
        order = [*spec.posonlyargs, *spec.args]
        found: dict[str, Values] = {}
        for parameter, default in zip(reversed(order), reversed(spec.defaults), strict=False):
            found[parameter.arg] = self.evaluate(frame, default)
        for parameter, given in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if given is not None:
                found[parameter.arg] = self.evaluate(frame, given)
        return found

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
        return tuple(one.after(step) if isinstance(one, Amount) else one for one in settled(values))


def _first(target: Function, this: Object | None) -> Values | None:
    """What a method's first parameter is; empty where that is not known, None where it has no `self` of its own."""
    owner = target.owner
    if owner and "classmethod" in target.decorators:
        return (Reference(this.of if this else owner),)
    if this is not None:
        return (this,)
    names = [one.arg for one in (*target.node.args.posonlyargs, *target.node.args.args)]
    return () if "staticmethod" not in target.decorators and names[0] in {"self", "cls"} else None
