"""Arithmetic on the value, and where its bare number becomes an amount of something."""

import ast
from dataclasses import replace

from fleetops.source.tracing import names
from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.arithmetic import combine, plain, say_factor
from fleetops.source.tracing.machine import Frame
from fleetops.source.tracing.measured import measured
from fleetops.source.tracing.sequences import Sequences, joined
from fleetops.source.tracing.texts import written
from fleetops.source.tracing.values import Const, Value, Values, union


class Operators(Sequences):
    """Evaluates sums, products, quotients and signs."""

    def _binop(self, frame: Frame, node: ast.BinOp) -> Values:
        lefts, rights = self.evaluate(frame, node.left), self.evaluate(frame, node.right)
        text = written(node)
        found: list[Value] = []
        for left in lefts:
            for right in rights:
                made = joined(left, right) if isinstance(node.op, ast.Add) else None
                made = made or combine(node.op, plain(left), plain(right), text)
                found.append(self._sited(frame, node, left, right, made or Symbol(text)))
        return union(found)

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
            made = measured(made, self.program)
            memory = any(one.of_memory for one in made.times)
            counted = all(names.is_count(one.text) or one.of_memory for one in made.times)
            site = replace(
                self.machine.site(frame, node),
                parallel=made.parallel,
                moved=made.moved,
                multiplies=made.coefficient == 1 and not made.over and counted,
                memory=memory,
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
