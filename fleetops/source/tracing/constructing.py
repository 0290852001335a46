"""Objects of the package's own classes: constructors, and the fields of dataclasses."""

import ast
from abc import abstractmethod

from fleetops.source.tracing.amounts import Amount
from fleetops.source.tracing.containers import Containers
from fleetops.source.tracing.decorators import changing_decorator
from fleetops.source.tracing.definitions import Class, Function
from fleetops.source.tracing.machine import Field, Frame
from fleetops.source.tracing.values import Arguments, Object, Values, amounts_in, settled, union


class Constructing(Containers):
    """Follows constructors."""

    @abstractmethod
    def run(self, target: Function, this: Object | None, bound: dict[str, Values]) -> Values:
        """Follow a function with its variables bound."""

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
            self.machine.begin(made)
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
            self.machine.lose(
                frame, node, amount, f"{of.name} is changed by {changed}, which cannot be followed"
            )

    def _fields(self, frame: Frame, node: ast.Call, made: Object, arguments: Arguments) -> None:
        """A dataclass or the like: its annotated names are its parameters."""
        order = [name for base in reversed(self.program.lineage(made.of)) for name in base.annotated]
        given = dict(zip(order, arguments[0], strict=False)) | arguments[1]
        if not order:
            for amount in amounts_in(union(*arguments[0], *arguments[1].values())):
                self.machine.lose(
                    frame, node, amount, f"{made.of.name} has no constructor that could be read"
                )
            return
        for name, values in ((name, settled(values)) for name, values in given.items()):
            self.machine.keep(made, name, values)
            for amount in amounts_in(values):
                self.machine.hold(Field(name, amount, made.of))
        after = self.program.method(made.of, "__post_init__")
        if after:
            self.run(after, made, {"self": (made,)})
