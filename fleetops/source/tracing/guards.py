"""Whether a branch is taken on some ranks only."""

import ast
from collections.abc import Callable, Mapping

from fleetops.source.tracing import names

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
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares_rank(test, tests)
    if isinstance(test, ast.Name) and test.id in tests and deep and tests[test.id] is not test:
        return restricts(tests[test.id], tests, branch=branch, leaf=leaf, deep=deep - 1)
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
    if isinstance(test.ops[0], ast.Is | ast.IsNot):
        return False
    sides = [test.left, test.comparators[0]]
    resolved = [tests.get(side.id, side) if isinstance(side, ast.Name) else side for side in sides]
    ranks = [
        names.is_rank(side) or names.is_rank(meant) or _is_rank_arithmetic(meant)
        for side, meant in zip(sides, resolved, strict=True)
    ]
    return any(ranks)


def _is_rank_arithmetic(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and (names.is_rank(node.left) or names.is_rank(node.right))


def local_tests(function: ast.AST) -> dict[str, ast.expr]:
    """Variables of a function that are given a test (or a rank), by name."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return found
