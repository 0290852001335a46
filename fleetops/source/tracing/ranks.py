"""Tests of the rank that stand behind a name: an attribute, a property, a helper, a decorator."""

import ast

from fleetops.source.tracing.definitions import Class, Function, statements_in
from fleetops.source.tracing.guards import local_tests, restricts
from fleetops.source.tracing.program import Program

_DEEP = 3
_HARMLESS = frozenset(
    {"property", "cached_property", "staticmethod", "classmethod", "abstractmethod", "override", "wraps"}
)


def hides_rank_test(node: ast.expr, function: Function | None, program: Program, deep: int = _DEEP) -> bool:
    """Whether what a name stands for is true on some ranks only."""
    key = (node, function, deep)
    if key not in program.rank_tests:
        program.rank_tests[key] = _hides(node, function, program, deep)
    return program.rank_tests[key]


def _hides(node: ast.expr, function: Function | None, program: Program, deep: int) -> bool:
    if function is None or deep <= 0:
        return False
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return _attribute(node.attr, _class_around(function), program, deep)
    if isinstance(node, ast.Call):
        target = _called(node, function, program)
        return target is not None and _returns_rank_test(target, program, deep)
    return False


def _class_around(function: Function) -> Class | None:
    while function.owner is None and function.outer is not None:
        function = function.outer
    return function.owner


def _attribute(name: str, owner: Class | None, program: Program, deep: int) -> bool:
    if owner is None:
        return False
    method = program.method(owner, name)
    if method:
        return _returns_rank_test(method, program, deep)
    return any(
        _restricts(value, stored_in, program, deep - 1)
        for base in program.lineage(owner)
        for stored_in, value in base.stores.get(name, ())
    )


def _called(node: ast.Call, function: Function, program: Program) -> Function | None:
    func = node.func
    owner = _class_around(function)
    if (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "self"
        and owner
    ):
        return program.method(owner, func.attr)
    target = program.expression(function.module, func)
    return target if isinstance(target, Function) else None


def _returns_rank_test(target: Function, program: Program, deep: int) -> bool:
    return any(
        isinstance(one, ast.Return)
        and one.value is not None
        and _restricts(one.value, target, program, deep - 1)
        for one in statements_in(target.node.body)
    )


def _restricts(value: ast.expr, function: Function, program: Program, deep: int) -> bool:
    def leaf(node: ast.expr) -> bool:
        return hides_rank_test(node, function, program, deep)

    tests = local_tests(function.node)
    return restricts(value, tests, branch=True, leaf=leaf) or restricts(value, tests, branch=False, leaf=leaf)


def decorator_tests_rank(function: Function, program: Program) -> bool:
    """Whether one of its decorators, of this package, lets it run on some ranks only."""
    for node in function.node.decorator_list:
        bare = node.func if isinstance(node, ast.Call) else node
        target = program.expression(function.module, bare)
        if isinstance(target, Function) and target.name not in _HARMLESS and _asks_for_rank(target, program):
            return True
    return False


def _asks_for_rank(target: Function, program: Program) -> bool:
    def leaf(node: ast.expr) -> bool:
        return hides_rank_test(node, target, program, 1)

    tests = local_tests(target.node)
    for node in ast.walk(target.node):
        if isinstance(node, ast.If | ast.IfExp | ast.Assert) and (
            restricts(node.test, tests, branch=True, leaf=leaf)
            or restricts(node.test, tests, branch=False, leaf=leaf)
        ):
            return True
    return False
