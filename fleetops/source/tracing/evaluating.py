"""The evaluator's floor: an expression goes in, everything that it may stand for comes out; the layers above say how."""

import ast
from abc import ABC, abstractmethod

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
