"""The engine's own check of the value against the machine's memory, and whether passing it means anything."""

import ast
import re
from collections.abc import Iterable

from fleetops.model.proof import EngineCheck
from fleetops.source.tracing.definitions import Class, Function, breadth_first, last_name
from fleetops.source.tracing.machine import Met
from fleetops.source.tracing.names import symbol
from fleetops.source.tracing.program import Program, Variable

_DEEP = 5
_MEMORY = re.compile(
    r"virtual_memory|MemAvailable|psutil\.|get_available_cpu_memory|cpu_memory", re.IGNORECASE
)


def find_check(checks: Iterable[tuple[Met, ast.Compare]], program: Program) -> EngineCheck | None:
    """The first comparison of an amount with what the machine has free."""
    for met, node in checks:
        if met.amount.site is None or met.function is None:
            continue
        for side in (node.left, *node.comparators):
            gathered = list(_ingredients(side, met.function, program, _DEEP, set()))
            text = "\n".join(ast.unparse(one) for one in gathered)
            if not _MEMORY.search(text):
                continue
            sound = any(_divides_by_ranks(one, program) for one in gathered)
            place = met.step
            return EngineCheck(
                file=place.module.file,
                line=node.lineno,
                text=place.text,
                sound=sound,
                why=_SOUND if sound else _UNSOUND,
            )
    return None


_SOUND = "each rank checks its own share: what is free, divided by the ranks of the machine"
_UNSOUND = "each rank alone is checked against the whole machine's free memory: all of them together can ask for more"


def _divides_by_ranks(node: ast.AST, program: Program) -> bool:
    return any(
        isinstance(inner, ast.BinOp)
        and isinstance(inner.op, ast.Div | ast.FloorDiv)
        and bool(symbol("", last_name(inner.right), program.package).parallel)
        for inner in ast.walk(node)
    )


def _ingredients(
    node: ast.expr, function: Function, program: Program, deep: int, seen: set[object]
) -> Iterable[ast.AST]:
    """The expression, what its variables were given, and the bodies of what it calls."""
    yield node
    if deep <= 0:
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and (function, inner.id) not in seen:
            seen.add((function, inner.id))
            for value in _assigned(function, inner.id):
                yield from _ingredients(value, function, program, deep - 1, seen)
        if isinstance(inner, ast.Call):
            target = _target(inner, function, program)
            if isinstance(target, Function) and target not in seen:
                seen.add(target)
                for returned in ast.walk(target.node):
                    if isinstance(returned, ast.Return) and returned.value is not None:
                        yield from _ingredients(returned.value, target, program, deep - 1, seen)


def _target(
    node: ast.Call, function: Function, program: Program
) -> Function | Class | Variable | object | None:
    if isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "self" and function.owner:
        return program.method(function.owner, node.func.attr)
    return program.expression(function.module, node.func)


def _assigned(function: Function, name: str) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in breadth_first(function.node):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(one, ast.Name) and one.id == name for one in targets) and isinstance(
            node, ast.Assign
        ):
            found.append(node.value)
    return found
