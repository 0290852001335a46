"""Source as it is shown to a person: a node or a line on one line, cut where it is long."""

import ast
from copy import deepcopy
from functools import lru_cache
from textwrap import shorten

from fleetops.source.tracing.definitions import Module

_TEXT = 90
_STRING = 30


@lru_cache(maxsize=65536)
def unparsed(node: ast.AST) -> str:
    """A node's source; nodes are their own keys."""
    return ast.unparse(node)


@lru_cache(maxsize=65536)
def written(node: ast.AST) -> str:
    """The source of a node on one line, cut where it is long."""
    text = " ".join(unparsed(node).split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


class _Shortening(ast.NodeTransformer):
    """Long strings (help texts) by their first words."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A name is written as it is, whatever is in it."""
        if not isinstance(node.value, str) or len(node.value) <= _STRING:
            return node
        return ast.Name('"' + shorten(node.value, _STRING, placeholder=" ...") + '"', ast.Load())


def statement_text(module: Module, node: ast.stmt) -> str:
    """The line that a statement stands on; where it takes several, all of it on one, cut where it is long."""
    if node.end_lineno == node.lineno:
        return line_text(module, node.lineno)
    return written(_Shortening().visit(deepcopy(node)))


def line_text(module: Module, line: int) -> str:
    """One line without its indentation."""
    return module.lines[line - 1].strip() if 0 < line <= len(module.lines) else ""
