"""Loops in which pools are built: whether each turn builds one of another kind."""

import ast
from collections.abc import Iterator

from fleetops.source.tracing.amounts import Call
from fleetops.source.tracing.names import counts_bytes
from fleetops.source.tracing.texts import unparsed


def of_its_own(loop: ast.AST, path: tuple[Call, ...]) -> bool:
    """Whether what is called in the loop is told, by what the loop goes through, how many bytes one item takes.

    As many rows, in a pool beside the others for other buffers; the same pool once more would be told the same.
    """
    if not isinstance(loop, ast.For):
        return False
    inside = {id(node) for node in ast.walk(loop)}
    turning = _turning(loop)
    return any(
        isinstance(call.node, ast.Call)
        and id(call.node) in inside
        and any(
            _names(given) & turning and (counts_bytes(name) or counts_bytes(unparsed(given)))
            for name, given in _given(call.node)
        )
        for call in path
    )


def _given(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    yield from (("", one) for one in call.args)
    yield from ((one.arg or "", one.value) for one in call.keywords)


def _turning(loop: ast.For) -> set[str]:
    """Variables that are another one's in each turn."""
    found = _names(loop.target)
    before: set[str] = set()
    while found != before:
        before = set(found)
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and _names(node.value) & found:
                found.update(*(_names(target) for target in node.targets))
            elif isinstance(node, ast.For) and _names(node.iter) & found:
                found |= _names(node.target)
    return found


def _names(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
