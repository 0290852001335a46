"""Branches: which way a test goes with the flag set, and what holds after either."""

import ast
from abc import abstractmethod
from collections.abc import Sequence

from fleetops.source.tracing.amounts import Amount, Answer, answer
from fleetops.source.tracing.assigning import Assigning
from fleetops.source.tracing.definitions import Class
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.merging import is_floor, limit, mark_floor, mark_kept, merged
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import Const, Object, Reference, Several, Table, Value, elements


class Branching(Assigning):
    """Follows `if`, `try` and `match`."""

    @abstractmethod
    def block(self, frame: Frame, statements: Sequence[ast.stmt]) -> None:
        """Follow statements in order, until one ends the branch."""

    def _if(self, frame: Frame, statement: ast.If) -> bool | None:
        """Both branches, or the one that is taken. Returns the way in which the rest is reached, where one has ended."""
        with self.asking(frame, statement.test):
            return self._either(frame, statement)

    def _either(self, frame: Frame, statement: ast.If) -> bool | None:
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
        if kept := self._otherwise(frame, statement.test):
            mark_kept(first[0], second[0], kept)
        if is_floor(statement):
            mark_floor(first[0], second[0], written(statement.test))
            mark_floor(first[1], second[1], written(statement.test))
        if self.tests_rank(frame, statement.test):
            place = f"{frame.module.file}:{statement.lineno}"
            limit(first[0], second[0], place)
            limit(first[1], second[1], place)
        frame.names, self.machine.state = merged(first[0], second[0]), merged(first[1], second[1])
        return None

    def _otherwise(self, frame: Frame, test: ast.expr) -> Answer | None:
        """What is so where a test fails, given that the flag is set."""
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        open_parts = [one for one in parts if self.decide(frame, one) is not True]
        return answer(open_parts[0], truth=False) if len(open_parts) == 1 else None

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

    def _try(self, frame: Frame, statement: ast.Try) -> None:
        before = dict(frame.names)
        self.block(frame, statement.body)
        ended, names = frame.gone, frame.names
        reached = [] if ended else [names]
        for handler in statement.handlers:
            frame.names, frame.gone = merged(before, names), False
            self.block(frame, handler.body)
            if not frame.gone:
                reached.append(frame.names)
        frame.gone = not reached
        frame.names = reached[0] if reached else names
        for more in reached[1:]:
            frame.names = merged(frame.names, more)
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
            frame.names = merged(frame.names, more)


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
