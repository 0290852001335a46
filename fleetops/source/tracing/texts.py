"""Source as it is shown to a person: a node or a line on one line, cut where it is long."""

import ast
from functools import lru_cache

from fleetops.source.tracing.definitions import Module

_TEXT = 90


@lru_cache(maxsize=65536)
def unparsed(node: ast.AST) -> str:
    """A node's source; nodes are their own keys."""
    return ast.unparse(node)


def written(node: ast.AST) -> str:
    """The source of a node on one line, cut where it is long."""
    text = " ".join(unparsed(node).split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def line_text(module: Module, line: int) -> str:
    """One line without its indentation."""
    return module.lines[line - 1].strip() if 0 < line <= len(module.lines) else ""
