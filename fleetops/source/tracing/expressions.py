"""Expressions that choose or test: what is reached where, and what is compared with the value."""

import ast
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from fleetops.source.tracing import names
from fleetops.source.tracing.amounts import Amount, Answer, Symbol
from fleetops.source.tracing.guards import restricts
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.operators import Operators
from fleetops.source.tracing.ranks import hides_rank_test
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import Const, Lambda, Values, amounts_in, limited, provided, union


class Expressions(Operators):
    """Evaluates every form of expression but calls."""

    def _boolop(self, frame: Frame, node: ast.BoolOp) -> Values:
        """Each operand is reached only where those before it let it be."""
        found: list[Values] = []
        with ExitStack() as reached:
            for value in node.values:
                reached.enter_context(self.asking(frame, value))
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
        with self.asking(frame, node.test):
            return self._chosen(frame, node)

    def _chosen(self, frame: Frame, node: ast.IfExp) -> Values:
        self.evaluate(frame, node.test)
        verdict = self.decide(frame, node.test)
        found: list[Values] = []
        for branch, value in ((True, node.body), (False, node.orelse)):
            if verdict is None or verdict is branch:
                with self.branch(frame, node, node.test, branch=branch):
                    found.append(self.evaluate(frame, value))
                if branch and (answer := self._kept_none(frame, node.test)):
                    found[-1] = provided(found[-1], answer)
        if (
            len(found) == 2
            and set(amounts_in(found[0])) != set(amounts_in(found[1]))
            and self.tests_rank(frame, node.test)
        ):
            place = f"{frame.module.file}:{node.lineno}"
            found = [limited(values, place) for values in found]
        return _one_or_all(union(*found))

    def _kept_none(self, frame: Frame, test: ast.expr) -> Answer | None:
        """What has to be so for `x is None`, where that is known of every None that it may be."""
        if not (
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.Is)
            and isinstance(test.left, ast.Name)
            and isinstance(test.comparators[0], ast.Constant)
        ):
            return None
        values = self.evaluate(frame, test.left)
        answers = {one.provided for one in values if isinstance(one, Const) and one.value is None}
        known = all(isinstance(one, Const | Amount) for one in values) and len(answers) == 1
        return answers.pop() if known else None

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

    def _namedexpr(self, frame: Frame, node: ast.NamedExpr) -> Values:
        frame.names[node.target.id] = values = self.evaluate(frame, node.value)
        return values

    def _lambda(self, frame: Frame, node: ast.Lambda) -> Values:
        return (Lambda(node, dict(frame.names), frame.module),)

    def _call(self, frame: Frame, node: ast.Call) -> Values:
        return self.call(frame, node)

    def _await(self, frame: Frame, node: ast.Await) -> Values:
        return self.evaluate(frame, node.value)


def _one_or_all(values: Values) -> Values:
    """`1 if copied else world_size`: the parallel size, where the other way there is but one of it."""
    sizes = [one for one in values if isinstance(one, Symbol) and one.parallel]
    if len(sizes) == 1 and len(values) == 2 and Const(1) in values:
        return (sizes[0],)
    return values
