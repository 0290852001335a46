"""How large things may be: a file says what it holds, a function does one thing."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("fleetops", "tools", "bench") for path in (ROOT / folder).rglob("*.py"))

FILE_LINES = 300
FUNCTION_LINES = 60
# What most of them should keep to: half the functions, and nine in ten.
MEDIAN_LINES, NINETIETH_LINES = 12, 30


def function_lengths(source: str) -> dict[str, int]:
    """`name:line` -> lines of every function and method, decorators left out."""
    return {
        f"{node.name}:{node.lineno}": (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_short(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= FILE_LINES, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_is_short(path: Path) -> None:
    long = {
        name: lines for name, lines in function_lengths(path.read_text()).items() if lines > FUNCTION_LINES
    }
    assert not long, f"{path.relative_to(ROOT)}: {long}"


def test_most_functions_are_small() -> None:
    lengths = sorted(lines for path in FILES for lines in function_lengths(path.read_text()).values())
    assert lengths[len(lengths) // 2] <= MEDIAN_LINES
    assert lengths[len(lengths) * 9 // 10] <= NINETIETH_LINES


def test_a_long_function_is_noticed() -> None:
    source = "class A:\n    async def f(self):\n" + "        pass\n" * FUNCTION_LINES
    assert function_lengths(source) == {"f:2": FUNCTION_LINES + 1}


def test_every_file_says_what_it_holds() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent
