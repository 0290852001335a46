"""Where a file calls a function or hands it on by its name, and whether only some ranks get there."""

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fleetops.source.tracing.definitions import Class, Function, FunctionNode, Module, first_line, last_name
from fleetops.source.tracing.guards import local_tests, restricts
from fleetops.source.tracing.names import is_rank
from fleetops.source.tracing.program import Program
from fleetops.source.tracing.ranks import hides_rank_test

_STARTS = frozenset({"Process", "Popen", "spawn", "remote", "SpawnProcess", "submit", "start_process"})


@dataclass(frozen=True)
class Mention:
    """One place that calls or hands on a function.

    Attributes:
        caller: the function around it; None at a module's own level.
        owner: the class whose body it stands in, where that is no function.
        sure: it can only mean that function (a name, `self.method`), not just some object's method of that name.
        ranks: the branch around it is taken on some ranks only, at this line.
        starts: it starts a process with it.
    """

    module: Module
    line: int
    caller: Function | None
    owner: Class | None = None
    variable: str = ""
    sure: bool = True
    ranks: int = 0
    starts: bool = False

    @property
    def at(self) -> str:
        """`file:line`, for a person."""
        return f"{self.module.file}:{self.line}"


@dataclass(frozen=True)
class Use:
    """A mention, and what stands before the dot (`receiver.name`); None for a bare name."""

    mention: Mention
    receiver: ast.expr | None = None


def uses_of(program: Program, module: Module, name: str, *, by_name: bool) -> Iterator[Use]:
    """Where the module uses it as a value: not in an annotation, an import or an isinstance."""
    if module.broken:
        return
    visited: set[ast.AST] = set()
    lines = module.lines_to_search(name)
    for line in module.lines_mentioning(name):
        function = module.function_at(line)
        top = function.node if function else _statement_at(module.body, line)
        if top is None or top in visited:
            continue
        visited.add(top)
        finder = _Finder(program, module, name, lines, by_name=by_name)
        finder.within(top, function)
        yield from finder.found


def inside(outer: Function, name: str) -> Iterator[Mention]:
    """Uses of a nested function, in the one around it."""
    for node in ast.walk(outer.node):
        if isinstance(node, ast.Name) and node.id == name:
            yield Mention(outer.module, node.lineno, outer)


def _statement_at(body: list[ast.stmt], line: int) -> ast.stmt | None:
    return next((one for one in body if one.lineno <= line <= (one.end_lineno or one.lineno)), None)


class _Finder:
    """Walks one function, or one statement of a module's own level, with the branches around each place.

    Of a large function only what is around the lines that have the name is looked at.
    """

    def __init__(
        self, program: Program, module: Module, name: str, lines: Sequence[int], *, by_name: bool
    ) -> None:
        self.program, self.module, self.name, self.by_name = program, module, name, by_name
        self.lines = lines
        self.found: list[Use] = []
        self.function: Function | None = None
        self.owner: Class | None = None
        self.variable = ""
        self.starting = False

    def within(self, top: ast.stmt, function: Function | None) -> None:
        """Look through it."""
        self.function = function
        if function:
            self._signature(function.node)
            self._block(function.node.body, 0)
            return
        self._statement(top, 0)

    def _signature(self, node: FunctionNode) -> None:
        """Defaults and decorators: `def launch(run=run_scheduler_process)`."""
        for one in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
            if one is not None:
                self._expression(one, 0)

    def _ranks(self, test: ast.expr, *, branch: bool) -> bool:
        return restricts(
            test,
            local_tests(self.function.node) if self.function else {},
            branch=branch,
            leaf=lambda node: hides_rank_test(node, self.function, self.program),
        )

    def _has_it(self, node: ast.stmt) -> bool:
        """Whether the name stands on a line of this statement, its decorators included."""
        first = first_line(node) if isinstance(node, FunctionNode) else node.lineno
        place = bisect_left(self.lines, first)
        return place < len(self.lines) and self.lines[place] <= (node.end_lineno or first)

    def _block(self, statements: list[ast.stmt], ranks: int) -> None:
        having = [one for one in statements if self._has_it(one)]
        for one in statements[: statements.index(having[-1]) + 1] if having else ():
            if one in having:
                self._statement(one, ranks)
            if isinstance(one, ast.Return | ast.Raise):
                return  # what follows is never reached
            if isinstance(one, ast.If) and not one.orelse and _ends(one.body):
                ranks = ranks or (one.lineno if self._ranks(one.test, branch=False) else 0)
            elif isinstance(one, ast.Assert):
                ranks = ranks or (one.lineno if self._ranks(one.test, branch=True) else 0)

    def _arms(self, one: ast.If, ranks: int) -> None:
        """Both ways; what stands in both is reached by all, whatever the test."""
        self._expression(one.test, ranks)
        start = len(self.found)
        self._arm(one, one.body, ranks, branch=True)
        middle = len(self.found)
        self._arm(one, one.orelse, ranks, branch=False)
        if not ranks and start < middle < len(self.found):
            self.found[start:] = [_unrestricted(use, one.lineno) for use in self.found[start:]]

    def _arm(self, one: ast.If, body: list[ast.stmt], ranks: int, *, branch: bool) -> None:
        if any(self._has_it(inner) for inner in body):
            self._block(body, ranks or (one.lineno if self._ranks(one.test, branch=branch) else 0))

    def _match(self, one: ast.Match, ranks: int) -> None:
        self._expression(one.subject, ranks)
        limited = ranks or (one.lineno if is_rank(one.subject) else 0)
        for case in one.cases:
            self._block(case.body, limited)

    def _statement(self, one: ast.stmt, ranks: int) -> None:
        if isinstance(one, FunctionNode):
            if self.function is not None:  # otherwise it is looked through by itself
                self._signature(one)
        elif isinstance(one, ast.ClassDef):
            self._class(one, ranks)
        elif isinstance(one, ast.If):
            begins = self.function is None and "__main__" in ast.unparse(one.test)
            if not begins:  # another program
                self._arms(one, ranks)
        elif isinstance(one, ast.Match):
            self._match(one, ranks)
        elif isinstance(one, ast.AnnAssign):
            self._annotated(one, ranks)
        elif not isinstance(one, ast.Import | ast.ImportFrom):
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                self.variable = one.targets[0].id
            self._parts(one, ranks)
            self.variable = ""

    def _annotated(self, one: ast.AnnAssign, ranks: int) -> None:
        """Its value; an annotation uses nothing."""
        self.variable = one.target.id if isinstance(one.target, ast.Name) else ""
        if one.value is not None:
            self._expression(one.value, ranks)
        self.variable = ""

    def _parts(self, one: ast.stmt, ranks: int) -> None:
        """Any other statement: the expressions and the blocks in it."""
        for _, value in ast.iter_fields(one):
            parts = value if isinstance(value, list) else [value]
            if parts and isinstance(parts[0], ast.stmt):
                self._block(parts, ranks)
                continue
            for inner in parts:
                if isinstance(inner, ast.expr):
                    self._expression(inner, ranks)
                elif isinstance(inner, ast.ExceptHandler):
                    self._block(inner.body, ranks)
                elif isinstance(inner, ast.withitem):
                    self._expression(inner.context_expr, ranks)

    def _class(self, one: ast.ClassDef, ranks: int) -> None:
        before, self.owner = self.owner, self._class_of(one)
        for inner in one.body:
            if not isinstance(inner, FunctionNode):
                self._statement(inner, ranks)
            else:
                self._signature(inner)
        self.owner = before

    def _class_of(self, node: ast.ClassDef) -> Class | None:
        return next((one for one in self.module.classes.values() if one.node is node), None)

    def _expression(self, node: ast.expr, ranks: int) -> None:
        if isinstance(node, ast.Call) and last_name(node.func) in {"isinstance", "issubclass"}:
            for one in node.args[:1]:
                self._expression(one, ranks)
        elif isinstance(node, ast.IfExp):
            self._expression(node.test, ranks)
            for branch, one in ((True, node.body), (False, node.orelse)):
                self._expression(one, ranks or (node.lineno if self._ranks(node.test, branch=branch) else 0))
        elif isinstance(node, ast.BoolOp):
            for one in node.values:
                self._expression(one, ranks)
                ranks = ranks or (node.lineno if self._ranks(one, branch=isinstance(node.op, ast.And)) else 0)
        else:
            ranks = ranks or (node.lineno if _picks_by_rank(node) else 0)
            before = self.starting
            self.starting = before or (isinstance(node, ast.Call) and last_name(node.func) in _STARTS)
            self._use(node, ranks)
            self.starting = before

    def _use(self, node: ast.expr, ranks: int) -> None:
        """The expression itself, where it is of that name, and what is in it."""
        if isinstance(node, ast.Attribute):
            if node.attr == self.name and not self.by_name:
                self.found.append(Use(self._mention(node, ranks), node.value))
            elif self.by_name and isinstance(node.value, ast.Name) and node.value.id == self.name:
                return  # `Class.CONSTANT`, `Class.method`: the method is looked for by its own name
        elif (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id == self.name
            and self.by_name
        ):
            self.found.append(Use(self._mention(node, ranks)))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, ranks)
            elif isinstance(child, ast.keyword):
                self._expression(child.value, ranks)
            elif isinstance(child, ast.comprehension):
                self._expression(child.iter, ranks)

    def _mention(self, node: ast.expr, ranks: int) -> Mention:
        return Mention(
            self.module,
            node.lineno,
            self.function,
            self.owner if not self.function else None,
            self.variable,
            ranks=ranks,
            starts=self.starting,
        )


def _picks_by_rank(node: ast.expr) -> bool:
    """`{0: build}[rank]`, `[build, skip].get(rank)`: what is picked differs between ranks."""
    if isinstance(node, ast.Subscript):
        return any(isinstance(one, ast.expr) and is_rank(one) for one in ast.walk(node.slice))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and any(is_rank(one) for one in node.args[:1])
    )


def _unrestricted(use: Use, line: int) -> Use:
    """Without the restriction of the branch at that line."""
    return replace(use, mention=replace(use.mention, ranks=0)) if use.mention.ranks == line else use


def _ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
