"""Writes of the flag's own field: by name (`setattr`, `replace`, `exec`), by attribute, by key."""

import ast

from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.expressions import Expressions
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.values import Arguments, Const, Object, Value, Values, amounts_in, union

OTHER = "something else"
FIXED = "a share that is written there, where some test holds"


class Rewriting(Expressions):
    """Notes where the flag itself is given something else."""

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
                        self.machine.hold(Field(key.value, amount))
                    return bool(amounts_in(values))
        if name in {"replace", "_replace", "evolve", "model_copy", "update"} and flag in keywords:
            self.override(frame, node, keywords[flag])
            return True
        if name in {"exec", "eval"} and any(
            isinstance(one, Const) and isinstance(one.value, str) and flag in one.value
            for one in union(*positional)
        ):
            for held in self.machine.fields[flag][:1]:
                self.machine.lose(frame, node, held.amount, f"{name} cannot be followed")
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
        why = "" if len(amounts) == len(values) else OTHER
        if self.machine.guards and all(isinstance(one, Const) and _is_share(one.value) for one in values):
            why = FIXED
        self.machine.overrides.append(self.machine.met(amounts[0] if amounts else Amount(), step, frame, why))

    def is_declared_on(self, owner: Value) -> bool:
        """Whether this may be the object that holds the flag itself."""
        if isinstance(owner, Object):
            return any(self.program.related(owner.of, one) for one in self.machine.declared)
        return isinstance(owner, Symbol)


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0 < value <= 1
