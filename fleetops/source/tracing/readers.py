"""Which functions really read something by a name, and do not just mention it."""

import ast

from fleetops.source.tracing.definitions import Function, last_name

_ASKS = frozenset({"get", "getattr", "pop", "setdefault", "get_extra_config_value", "setattr", "__setattr__"})


def reads(function: Function, name: str, *, written: bool) -> bool:
    """Whether the function really reads it (`x.name`, `x["name"]`, `getattr(x, "name")`), not just declares an option.

    `written`: also whether it hands something on by that name (`replace(args, name=x)`).
    """
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and node.attr == name:
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id[:1].isupper()):
                return True
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and node.slice.value == name:
                return True
        elif isinstance(node, ast.Call):
            if _call_reads(node, name, written=written):
                return True
        elif isinstance(node, ast.Name) and node.id == name and name in function.module.assigns:
            return True
    return False


def _call_reads(node: ast.Call, name: str, *, written: bool) -> bool:
    called = last_name(node.func)
    if written and called != "add_argument" and any(one.arg == name for one in node.keywords):
        return True
    constants = [
        one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    if (
        called in {"setattr", "__setattr__"}
        and len(node.args) > 1
        and not isinstance(node.args[-2], ast.Constant)
    ):
        return True
    if called in {"exec", "eval"}:
        return any(name in text for text in constants)
    return called in _ASKS and name in constants
