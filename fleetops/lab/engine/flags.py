"""The engine's command line, read from the engine's own source on the node.

The real `server_args.py` is parsed, never imported (it needs torch): the options, defaults and choices of exactly
the release that lies there, so that an unknown flag fails here as it fails there.
"""

import argparse
import ast
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "json.loads": json.loads}

# ServerArgs.from_cli_args renames these (server_args.py:5070).
_RENAMED = {
    "tp_size": "tensor_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "attn_cp_size": "attention_context_parallel_size",
    "moe_dp_size": "moe_data_parallel_size",
    "dp_size": "data_parallel_size",
    "ep_size": "expert_parallel_size",
}


@dataclass(frozen=True)
class Declarations:
    """What a `server_args.py` declares: the fields of ServerArgs, and the options of its command line."""

    defaults: Mapping[str, Any]
    options: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...]


def engine_folder(search: Iterable[str] | None = None) -> Path | None:
    """The `sglang` package that Python would import here, None where there is none."""
    folders = (Path(each or ".") / "sglang" for each in (sys.path if search is None else search))
    return next((each for each in folders if (each / "srt" / "server_args.py").is_file()), None)


def declarations(source: str) -> Declarations:
    """Read the declarations out of the text of a `server_args.py`."""
    tree = ast.parse(source)
    names = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    fields = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ServerArgs")
    defaults = {
        node.target.id: _value(node.value, {})
        for node in fields.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    calls = (node for node in ast.walk(fields) if isinstance(node, ast.Call) and _is_option(node))
    return Declarations(defaults, tuple(_option(call, defaults, names) for call in calls))


def parse(argv: list[str], declared: Declarations) -> dict[str, Any]:
    """The fields of ServerArgs for this command line. Exits with 2 as argparse does."""
    parser = argparse.ArgumentParser()
    for names, keywords in declared.options:
        parser.add_argument(*names, **keywords)
    given = vars(parser.parse_args(argv))
    return {
        name: given.get(_RENAMED.get(name, name), given.get(name, default))
        for name, default in declared.defaults.items()
    }


def _is_option(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _option(
    call: ast.Call, defaults: Mapping[str, Any], names: Mapping[str, ast.expr]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    spelled = tuple(str(each.value) for each in call.args if isinstance(each, ast.Constant))
    keywords: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg == "type":
            keywords["type"] = _TYPES.get(ast.unparse(keyword.value), str)
        elif keyword.arg == "default":
            keywords["default"] = _value(keyword.value, defaults)
        elif keyword.arg == "choices":
            keywords |= _choices(keyword.value, names)
        elif keyword.arg in {"action", "nargs", "dest", "required", "const"}:
            keywords |= _literal(keyword.arg, keyword.value)
    if keywords.get("action", "store") != "store":
        keywords = {key: value for key, value in keywords.items() if key in {"action", "default", "dest"}}
    return spelled, keywords


def _literal(name: str, node: ast.expr) -> dict[str, Any]:
    """A keyword's plain value; an action that is a class of the engine's own takes any number of words."""
    if isinstance(node, ast.Constant):
        return {name: node.value}
    return {"nargs": "*"} if name == "action" else {}


def _choices(node: ast.expr, names: Mapping[str, ast.expr]) -> dict[str, Any]:
    """Choices that can be read; those that the engine computes are not checked."""
    if isinstance(node, ast.Name):
        node = names.get(node.id, node)
    try:
        return {"choices": list(ast.literal_eval(node))}
    except (ValueError, TypeError):
        return {}


def _value(node: ast.expr | None, defaults: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ServerArgs":
        return defaults.get(node.attr)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _value(node.left, defaults) * _value(node.right, defaults)
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None
