"""One parsed file: its functions, classes, imports and assignments, and where in it a name is mentioned."""

import ast
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Statements, most of all, that have no others in them and bring no names from elsewhere.
_SIMPLE = (
    ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert, ast.Pass,
)  # fmt: skip


@dataclass(frozen=True)
class Import:
    """What an imported name stands for: `attribute` of module `dotted`, or the module itself where it is empty."""

    dotted: str
    attribute: str = ""


@dataclass(eq=False)
class Class:
    """A class statement."""

    module: "Module"
    node: ast.ClassDef
    methods: dict[str, "Function"] = field(default_factory=dict)
    classes: dict[str, "Class"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As its statement has it."""
        return self.node.name

    @cached_property
    def fields(self) -> dict[str, ast.expr | None]:
        """Assignments in its body: name -> value, in order (None: only annotated)."""
        found: dict[str, ast.expr | None] = {}
        for statement in self.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = statement.value
            elif isinstance(statement, ast.Assign):
                found |= {one.id: statement.value for one in statement.targets if isinstance(one, ast.Name)}
        return found

    @cached_property
    def stores(self) -> dict[str, list[tuple["Function", ast.expr]]]:
        """What its methods assign to attributes of `self`: name -> (method, value)."""
        found: dict[str, list[tuple[Function, ast.expr]]] = {}
        for method in self.methods.values():
            for statement in statements_in(method.node.body):
                if isinstance(statement, ast.Assign):
                    targets, value = statement.targets, statement.value
                elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                    targets, value = [statement.target], statement.value
                else:
                    continue
                for target in targets:
                    if isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                        found.setdefault(target.attr, []).append((method, value))
        return found

    @cached_property
    def annotated(self) -> tuple[str, ...]:
        """The names that its body annotates, in order: a dataclass's parameters."""
        return tuple(
            one.target.id
            for one in self.node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        )


@dataclass(eq=False)
class Function:
    """A def statement, wherever it stands."""

    module: "Module"
    node: FunctionNode
    owner: Class | None = None
    outer: "Function | None" = None

    @property
    def name(self) -> str:
        """As its statement has it."""
        return self.node.name

    @property
    def title(self) -> str:
        """`HostKVCache.__init__`."""
        return f"{self.owner.name}.{self.name}" if self.owner else self.name

    @property
    def decorators(self) -> tuple[str, ...]:
        """The last part of each decorator's name."""
        return tuple(last_name(one) for one in self.node.decorator_list)


@dataclass(eq=False)
class Module:
    """A parsed file. `broken` says why it could not be parsed; then it is empty."""

    file: str
    dotted: str
    text: str
    broken: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assigns: dict[str, list[ast.expr]] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    otherwise: dict[str, list[Import]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    every_function: list[Function] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[str]:
        """Of the text, as the parser counts them: a form feed ends none."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def _odd(self) -> list[int]:
        """Numbers of the lines where an identifier may be written in other letters than it has (`ｎａｍｅ`)."""
        return [] if self.text.isascii() else [n for n, one in enumerate(self.lines, 1) if not one.isascii()]

    def lines_to_search(self, name: str) -> list[int]:
        """Numbers of the lines that an identifier of this name may stand on, in order."""
        return sorted({*self.lines_mentioning(name), *self._odd})

    @cached_property
    def _starts(self) -> list[int]:
        return [first_line(one.node) for one in self.every_function]

    def function_at(self, line: int) -> Function | None:
        """The innermost function around a line; None at the module's or a class's own level."""
        for place in range(bisect_right(self._starts, line) - 1, -1, -1):
            one = self.every_function[place]
            if (one.node.end_lineno or 0) >= line:
                return one
        return None

    def lines_mentioning(self, name: str) -> Iterator[int]:
        """Numbers of the lines that have this identifier as a word."""
        if name not in self.text:
            return
        # Begun with the name itself, which is searched for at once; what stands before it is looked at afterwards.
        words = re.finditer(rf"{re.escape(name)}(?<!\w{re.escape(name)})(?!\w)", self.text)
        yield from dict.fromkeys(bisect_right(self._begins, match.start()) for match in words)

    @cached_property
    def _begins(self) -> list[int]:
        """Where in the text each line begins."""
        return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", self.text))]

    def functions_mentioning(self, name: str) -> list[Function]:
        """The innermost functions around those lines, each once."""
        found = (self.function_at(line) for line in self.lines_mentioning(name))
        return list(dict.fromkeys(one for one in found if one))


@lru_cache(maxsize=512)
def parse_module(file: str, dotted: str, text: str) -> Module:
    """Parse one file. Anything that Python's parser does not take makes it `broken`, with the line."""
    module = Module(file=file, dotted=dotted, text=text)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        module.broken = f"{file}:{error.lineno or 1} does not parse: {error.msg}"
        return module
    except (ValueError, RecursionError, MemoryError) as error:
        module.broken = f"{file} does not parse: {error}"
        return module
    module.body = tree.body
    _collect(module, tree.body, None, None)
    module.every_function.sort(key=lambda one: first_line(one.node))
    return module


def statements_in(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body, inner ones included, those of nested functions and classes left out."""
    for one in body:
        yield one
        if not isinstance(one, FunctionNode | ast.ClassDef):
            for inner in _bodies(one):
                yield from statements_in(inner)


def breadth_first(top: ast.AST) -> Iterator[ast.AST]:
    """The statements in it in the order of `ast.walk`, nested functions' too, without looking into expressions."""
    todo = deque([top])
    while todo:
        one = todo.popleft()
        yield one
        if not isinstance(one, _SIMPLE):
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                todo.extend(getattr(one, name, ()))


def first_line(node: FunctionNode) -> int:
    """Decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`, of `a.b.c(...)` and of `c`; "" for what has no name."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def callee_name(node: ast.Call) -> str:
    """The last part of what a call names; "" where it calls what another call gives."""
    return "" if isinstance(node.func, ast.Call) else last_name(node.func)


def _collect(module: Module, statements: list[ast.stmt], owner: Class | None, outer: Function | None) -> None:
    for one in statements:
        if isinstance(one, _SIMPLE):
            if owner is None and outer is None:
                _collect_assign(module, one)
        elif isinstance(one, FunctionNode):
            _collect_function(module, one, owner, outer)
        elif isinstance(one, ast.ClassDef):
            made = Class(module, one)
            (owner.classes if owner else module.classes)[one.name] = made
            _collect(module, one.body, made, outer)
        elif isinstance(one, ast.Import | ast.ImportFrom):
            _collect_import(module, one, at_top=owner is None and outer is None)
        elif isinstance(one, ast.If) and last_name(one.test) == "TYPE_CHECKING":
            _collect(module, one.orelse, owner, outer)
            for only in one.body:
                if isinstance(only, ast.Import | ast.ImportFrom):
                    _collect_import(module, only, at_top=False)
        else:
            for inner in _bodies(one):
                _collect(module, inner, owner, outer)


def _collect_function(
    module: Module, node: FunctionNode, owner: Class | None, outer: Function | None
) -> None:
    made = Function(module, node, owner, outer)
    module.every_function.append(made)
    if owner is not None and outer is None:
        # Of overloads and property setters, the first definition that is no overload is the one that is called.
        if node.name not in owner.methods or "overload" in owner.methods[node.name].decorators:
            owner.methods[node.name] = made
    elif outer is None:
        module.functions[node.name] = made
    _collect(module, node.body, None, made)


def _collect_assign(module: Module, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                module.assigns.setdefault(target.id, []).append(statement.value)
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        module.assigns.setdefault(statement.target.id, []).append(statement.value)


def _collect_import(module: Module, node: ast.Import | ast.ImportFrom, *, at_top: bool) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            module.imports.setdefault(name, Import(alias.name if alias.asname else name))
        return
    base = node.module or ""
    if node.level:
        package = module.dotted.split(".")
        up = node.level - (1 if module.file.endswith("__init__.py") else 0)
        stem = package[: len(package) - up] if up else package
        base = ".".join([*stem, *([base] if base else [])])
    for alias in node.names:
        if alias.name == "*":
            module.stars.append(base)
        else:
            name, entry = alias.asname or alias.name, Import(base, alias.name)
            if module.imports.setdefault(name, entry) != entry and at_top:
                module.otherwise.setdefault(name, []).append(entry)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, _SIMPLE):
        return
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(statement, name, None)
        if isinstance(inner, list):
            yield inner
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body
