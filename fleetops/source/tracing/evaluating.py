"""The evaluator's floor: an expression goes in, everything that it may stand for comes out; the layers above say how."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any

from fleetops.source.tracing.amounts import Symbol
from fleetops.source.tracing.definitions import Function
from fleetops.source.tracing.machine import Frame, Machine
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import Const, Object, Values


class Evaluator(ABC):
    """Hands each form of expression to the method that is named after it; each layer above has some of them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.program = machine.program
        self._looking_up: set[tuple[int, str]] = set()
        self._aside = 0
        self._asked: dict[tuple[int, int], Values] = {}
        self._forms: dict[type[ast.expr], Callable[[Frame, Any], Values]] = {}

    @abstractmethod
    def call(self, frame: Frame, node: ast.Call) -> Values:
        """A call's result."""

    @abstractmethod
    def invoke(self, frame: Frame, node: ast.AST, target: Function, this: Object | None) -> Values:
        """A call of a function of this package without arguments (a property)."""

    @abstractmethod
    def decide(self, frame: Frame, test: ast.expr) -> bool | None:
        """Which way a test goes, given that the flag is set; None where that is not known."""

    @abstractmethod
    def assign_each(self, frame: Frame, target: ast.expr, sources: Values) -> None:
        """Bind a loop's variable to the items of what is gone through."""

    def evaluate(self, frame: Frame, node: ast.expr | None) -> Values:
        """Everything that the expression may stand for; never empty."""
        if node is None:
            return (Const(None),)
        key = (id(frame), id(node))
        if known := self._asked.get(key):
            return known
        self.machine.budget -= 1
        if self.machine.budget < 0:
            return (Symbol(written(node)),)
        found = self._form(type(node))(frame, node)
        found = found or (Symbol(written(node)),)
        if key in self._asked:
            self._asked[key] = found
        return found

    def _form(self, of: type[ast.expr]) -> Callable[[Frame, Any], Values]:
        """What evaluates such an expression."""
        if of not in self._forms:
            self._forms[of] = getattr(self, f"_{of.__name__.lower()}", self._anything)
        return self._forms[of]

    @contextmanager
    def asking(self, frame: Frame, test: ast.expr) -> Iterator[None]:
        """While a test is looked at, from several sides: what it calls is followed once, as it is called once."""
        every = [(id(frame), id(node)) for node in _followed_in(test)]
        called = [key for key in every if key not in self._asked]
        self._asked.update(dict.fromkeys(called, ()))
        try:
            yield
        finally:
            for key in called:
                self._asked.pop(key, None)

    def _anything(self, frame: Frame, node: ast.expr) -> Values:
        """A form that carries no amount on (a formatted string, a set, ...): looked into, for what is called in it."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(frame, child)
        return (Symbol(written(node)),)


@lru_cache(maxsize=65536)
def _followed_in(test: ast.expr) -> tuple[ast.expr, ...]:
    """What may lead into other functions; not what another frame, or each turn of a comprehension, has anew."""
    itself = (test,) if isinstance(test, ast.Call | ast.Attribute | ast.Subscript) else ()
    if isinstance(test, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return itself
    inner = (_followed_in(child) for child in ast.iter_child_nodes(test) if isinstance(child, ast.expr))
    return (*itself, *chain.from_iterable(inner))
