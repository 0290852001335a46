"""Whether a branch is taken on some ranks only."""

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache

from fleetops.source.tracing import names
from fleetops.source.tracing.definitions import breadth_first, last_name

_DEEP = 6


def _never(_node: ast.expr) -> bool:
    return False


def restricts(
    test: ast.expr,
    tests: Mapping[str, ast.expr],
    *,
    branch: bool,
    leaf: Callable[[ast.expr], bool] = _never,
    deep: int = _DEEP,
) -> bool:
    """Whether going this way means that this process is not just any rank.

    `a and rank == 0` does; `a or rank == 0` does not, as all ranks go that way where `a` holds.
    `tests`: variables that hold a test, by name; `leaf`: what else is known of a name.
    """
    if isinstance(test, ast.BoolOp):
        verdicts = [restricts(value, tests, branch=branch, leaf=leaf, deep=deep) for value in test.values]
        # what holds of a conjunction holds of each part; of a disjunction, only of one of them
        return any(verdicts) if isinstance(test.op, ast.And) is branch else all(verdicts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return restricts(test.operand, tests, branch=not branch, leaf=leaf, deep=deep)
    if isinstance(test, ast.Compare):
        return _compares_rank(test, tests)
    if isinstance(test, ast.Name) and test.id in tests and deep and tests[test.id] is not test:
        return restricts(tests[test.id], tests, branch=branch, leaf=leaf, deep=deep - 1)
    if isinstance(test, ast.Call) and last_name(test.func) in {"any", "all"}:
        return any(isinstance(one, ast.Compare) and _compares_rank(one, tests) for one in ast.walk(test))
    if isinstance(test, ast.IfExp):
        ways = [
            restricts(one, tests, branch=branch, leaf=leaf, deep=deep) for one in (test.body, test.orelse)
        ]
        return all(ways) or restricts(test.test, tests, branch=True, leaf=leaf, deep=deep)
    if isinstance(test, ast.NamedExpr):
        return restricts(test.value, tests, branch=branch, leaf=leaf, deep=deep)
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "bool"
        and test.args
    ):
        return restricts(test.args[0], tests, branch=branch, leaf=leaf, deep=deep)
    return names.tests_rank(test) or (names.is_rank(test) and not isinstance(test, ast.Call)) or leaf(test)


def _compares_rank(test: ast.Compare, tests: Mapping[str, ast.expr]) -> bool:
    if all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops):
        return False
    looked_up = all(isinstance(op, ast.In | ast.NotIn) for op in test.ops)
    if (
        looked_up
        and isinstance(test.comparators[0], ast.Name | ast.Attribute)
        and "rank" not in last_name(test.left)
    ):
        return False  # whether a table has an entry for a device, not which rank this is
    for side in (test.left, *test.comparators):
        meant = tests.get(side.id, side) if isinstance(side, ast.Name) else side
        if names.is_rank(side) or names.is_rank(meant) or _is_rank_arithmetic(meant):
            return True
        if any(_compares_rank(one, tests) for one in _comparisons(side)):
            return True
    return False


@lru_cache(maxsize=16384)
def _comparisons(node: ast.expr) -> tuple[ast.Compare, ...]:
    """Those within an expression."""
    return tuple(one for one in ast.walk(node) if isinstance(one, ast.Compare))


def _is_rank_arithmetic(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and (names.is_rank(node.left) or names.is_rank(node.right))


@lru_cache(maxsize=16384)
def local_tests(function: ast.AST) -> dict[str, ast.expr]:
    """Variables of a function that are given a test (or a rank), by name."""
    found: dict[str, ast.expr] = {}
    for node in breadth_first(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return found
