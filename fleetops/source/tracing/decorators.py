"""Decorators that may change what a function or class does."""

import ast

from fleetops.source.tracing.definitions import Function, FunctionNode, Module, last_name
from fleetops.source.tracing.program import External, Program

_HARMLESS = frozenset(
    {
        "property", "cached_property", "staticmethod", "classmethod", "abstractmethod", "override", "overload", "wraps",
        "dataclass", "contextmanager", "asynccontextmanager", "lru_cache", "cache", "no_grad", "inference_mode", "final",
        "total_ordering", "setter", "getter", "runtime_checkable", "deprecated", "jit", "compile", "config", "define",
        "singledispatch", "nullcontext", "register",
    }
)  # fmt: skip


def changing_decorator(node: FunctionNode | ast.ClassDef, module: Module, program: Program) -> str:
    """The first decorator that may give or take something else than what is written; "" where there is none."""
    for one in node.decorator_list:
        name = last_name(one)
        if name in _HARMLESS:
            continue
        target = program.expression(module, one.func if isinstance(one, ast.Call) else one)
        if isinstance(target, External):
            continue  # another package's: tracing, registration, compilation
        if isinstance(target, Function) and _hands_on(target, one):
            continue
        return f"@{name}"
    return ""


def _hands_on(target: Function, used: ast.expr) -> bool:
    """Whether it calls (or returns) what it decorates with exactly what it is given."""
    inner = [one for one in ast.walk(target.node) if isinstance(one, FunctionNode) and one is not target.node]
    named = {one.arg for function in (target.node, *inner) for one in function.args.args}
    decorated = (
        {target.node.args.args[0].arg} if target.node.args.args and not isinstance(used, ast.Call) else named
    )
    calls = [
        one
        for one in ast.walk(target.node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in decorated
    ]
    plain = all(
        all(isinstance(_bare(arg), ast.Name) for arg in call.args)
        and all(key.arg is None for key in call.keywords)
        for call in calls
    )
    if calls:
        return plain
    returns = [
        one.value for one in ast.walk(target.node) if isinstance(one, ast.Return) and one.value is not None
    ]
    return all(
        isinstance(one, ast.Name) and (one.id in named or one.id in {f.name for f in inner})
        for one in returns
    )


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node
