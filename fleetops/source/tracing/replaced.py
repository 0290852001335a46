"""Definitions on the way that are replaced from outside (`Pool.__init__ = other`): what stands there is not what runs."""

import ast
import re
from collections.abc import Iterable

from fleetops.source.tracing.definitions import Class
from fleetops.source.tracing.machine import Met
from fleetops.source.tracing.program import Program


def replaced_definitions(taken: Iterable[Met], program: Program) -> list[str]:
    """Where a class on the way gets another method, as `file:line: what is written there`."""
    names = {one.amount.site.name for one in taken if one.amount.site}
    names |= {
        step.note.removeprefix("of ").partition(".")[0]
        for one in taken
        for step in one.amount.trail
        if step.role == "argument"
    }
    found: list[str] = []
    for name in sorted(names):
        if not name.isidentifier():
            continue
        for file in program.files_mentioning(name):
            for number, line in _replacing(name, program.tree.text(file)):
                if not line.startswith("#") and not _is_an_object(name, program, file, number):
                    found.append(f"{file}:{number}: a definition on the way is replaced: {line}")
    return found


def _replacing(name: str, text: str) -> list[tuple[int, str]]:
    """The lines that give it an attribute, with their numbers. Each pattern begins with a word, which is searched for fast."""
    patterns = rf"{name}(?<![^\s.(]{name})\.\w+\s*=[^=]", rf"setattr\((\w+\.)*{name},"
    places = {match.start() for pattern in patterns for match in re.finditer(pattern, text)}
    numbers = {text.count("\n", 0, place) + 1: text.rfind("\n", 0, place) + 1 for place in places}
    return [(number, text[numbers[number] :].partition("\n")[0].strip()) for number in sorted(numbers)]


def _is_an_object(name: str, program: Program, file: str, line: int) -> bool:
    """Whether the function around that line has a variable of that name, which it makes of a class and of nothing else."""
    module = program.module(file)
    function = module.function_at(line) if module else None
    if module is None or function is None:
        return False
    bound = [
        node
        for node in ast.walk(function.node)
        if (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.alias) and name in {node.asname, node.name})
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
    ]
    made = [
        node.targets[0]
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.value, ast.Call)
        and isinstance(program.expression(module, node.value.func), Class)
    ]
    return bool(bound) and all(node in made for node in bound)


def dynamic_attributes(declared: Iterable[Class], flag: str) -> list[str]:
    """Methods of the declaring class that answer for its attributes, and may answer something else."""
    found: list[str] = []
    for one in declared:
        for name in ("__getattribute__", "__getattr__", "__setattr__"):
            method = one.methods.get(name)
            if method and (name == "__getattribute__" or flag in ast.unparse(method.node)):
                found.append(
                    f"{one.module.file}:{method.node.lineno}: {one.name}.{name} answers for its attributes"
                )
    return found
