"""Who calls a function, back to where a process begins: in which process it runs, and on which ranks."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from fleetops.source.tracing.definitions import Class, Function, FunctionNode, Module, last_name
from fleetops.source.tracing.guards import local_tests, restricts
from fleetops.source.tracing.names import is_rank
from fleetops.source.tracing.program import Program, Variable
from fleetops.source.tracing.ranks import decorator_tests_rank, hides_rank_test

_FARTHEST = 600  # places looked at
_CLOSE = 2  # calls away from the function, within which every caller counts
_STARTS = frozenset({"Process", "Popen", "spawn", "remote", "SpawnProcess", "submit", "start_process"})
_MANY = 16  # files that mention a name
# How much farther than a caller in the same file: one in another file, one by a method's name alone.
_ELSEWHERE, _UNSURE = 2, 3


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


@dataclass(frozen=True)
class Way:
    """A way from where a process begins to a function: the places where each calls the next, outermost first."""

    begins: str
    per_rank: bool
    places: tuple[Mention, ...] = ()
    sure: bool = True

    @property
    def starts(self) -> Mention | None:
        """The place where a process of its own is started on the way, from which it is not known how often it runs."""
        return None if self.per_rank else next((one for one in self.places if one.starts), None)

    @property
    def restricted(self) -> Mention | None:
        """The place that is reached on some ranks only."""
        return next((one for one in self.places if one.ranks), None)


Target = Function | Class | Variable


@dataclass(eq=False)
class Reach:
    """Ways back from functions to where processes begin."""

    program: Program
    _ways: dict[Target, list[Way]] = field(default_factory=dict)
    _mentions: dict[tuple[Target, bool, bool], list[Mention]] = field(default_factory=dict)

    def ways(self, target: Function) -> list[Way]:
        """Ways to it, at most one for each kind of beginning, sureness and restriction; none for dead code."""
        if target not in self._ways:
            self._ways[target] = self._search(target)
        return self._ways[target]

    def is_live(self, target: Function) -> bool:
        """Whether anything that the server runs leads to it, or its class is asked for by its name in a string."""
        return bool(self.ways(target)) or (target.owner is not None and self._is_named(target.owner))

    def _is_named(self, one: Class) -> bool:
        """A registry's entry: `register("HostPool", "package.module", "HostPool")`."""
        quoted = re.compile(rf"""["'](?:[\w.]+[.:])?{re.escape(one.name)}["']""")
        return any(
            quoted.search(line) and "__all__" not in line
            for module in self.program.modules_mentioning(one.name)
            for number in module.lines_mentioning(one.name)
            for line in [module.lines[number - 1]]
            if "(" in line
            or module.lines[number - 1].strip().strip(",").strip("\"'") != one.name
            or self._in_call(module, number)
        )

    def _in_call(self, module: Module, number: int) -> bool:
        """Whether a string that stands alone on its line is a call's argument, and not an entry of `__all__`."""
        for statement in module.body:
            if statement.lineno <= number <= (statement.end_lineno or statement.lineno):
                return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        return False

    def _search(self, start: Function) -> list[Way]:
        """By names that can only mean what they lead to; by methods' names alone only where that finds nothing."""
        return self._back(start, sure=True) or self._back(start, sure=False)

    def _back(self, start: Function, *, sure: bool) -> list[Way]:
        """Nearest first, and a definition's own file before others: most callers stand close by."""
        found: dict[tuple[bool, bool, bool], Way] = {}
        seen: set[tuple[Target, bool, bool, bool]] = set()
        order = count()
        queue: list[tuple[int, int, Target, tuple[Mention, ...], bool]] = [(0, next(order), start, (), True)]
        left = _FARTHEST
        while queue and left:
            left -= 1
            cost, _, target, places, near = heappop(queue)
            plain = any(way.per_rank and not way.restricted for way in found.values())
            if plain and (len(places) > _CLOSE or not sure):
                continue
            state = (target, all(one.sure for one in places), any(one.ranks for one in places), near)
            if state in seen:
                continue
            seen.add(state)
            for way in self._known(target, places) if near else ():
                found.setdefault((way.per_rank, way.sure, bool(way.restricted)), way)
            if self._begins(target) is not None or target in self._ways:
                continue
            if near:
                heappush(queue, (cost + self._effort(target, sure=sure), next(order), target, places, False))
            limited = (
                target.node.lineno
                if isinstance(target, Function) and decorator_tests_rank(target, self.program)
                else 0
            )
            for mention in self.mentions(target, near=near, sure=sure):
                mention = replace(mention, ranks=mention.ranks or limited)  # noqa: PLW2901 - the same place, restricted
                if mention.sure or not sure:
                    further = cost + 1 + (0 if mention.sure else _UNSURE)
                    for outer in self._around(mention):
                        heappush(queue, (further, next(order), outer, (mention, *places), True))
        return list(found.values())

    def _effort(self, target: Target, *, sure: bool) -> int:
        """How far other files are: the more of them have to be read, the farther."""
        files = len(self.program.files_mentioning(target.name))
        by_name_only = not sure and isinstance(target, Function) and target.owner is not None
        return _ELSEWHERE + (files if by_name_only else files // 8)

    def _known(self, target: Target, places: tuple[Mention, ...]) -> list[Way]:
        """Where a process begins right here, or where the ways to here have been found before."""
        begins = self._begins(target)
        if begins is not None:
            return [Way(_title(target), begins, places, all(one.sure for one in places))]
        return [
            Way(
                way.begins, way.per_rank, (*way.places, *places), way.sure and all(one.sure for one in places)
            )
            for way in self._ways.get(target, ())
        ]

    def _begins(self, target: Target) -> bool | None:
        """True where a rank's process begins, False where another of the server's does, else None."""
        if isinstance(target, Variable):
            return None
        names = {target.name}
        if isinstance(target, Function) and target.owner:
            names = {f"{target.owner.name}.{target.name}", f"{target.owner.name}.*"}
        if names & set(self.program.package.per_rank):
            return True
        return False if names & set(self.program.package.per_server) else None

    def _around(self, mention: Mention) -> list[Target]:
        if mention.caller:
            return [mention.caller]
        if mention.owner:
            return [mention.owner]
        return [Variable(mention.module, mention.variable)] if mention.variable else []

    def callers(self, target: Target) -> list[Mention]:
        """Every place that surely calls it or hands it on."""
        return [*self.mentions(target, near=True, sure=True), *self.mentions(target, near=False, sure=True)]

    def mentions(self, target: Target, *, near: bool, sure: bool) -> list[Mention]:
        """Places that call it or hand it on: in its own file or in others, surely or by a method's name alone."""
        key = (target, near, sure or not isinstance(target, Function) or target.owner is None)
        if key not in self._mentions:
            self._mentions[key] = list(self._find(target, near=near, sure=sure))
        return self._mentions[key]

    def _find(self, target: Target, *, near: bool, sure: bool) -> Iterator[Mention]:
        if isinstance(target, Class):
            yield from self._named(target, target.name, near=near)
            if not near:
                for sub in self.program.subclasses(target):
                    yield Mention(sub.module, sub.node.lineno, None, sub)
        elif isinstance(target, Variable):
            yield from self._named(target, target.name, near=near)
        elif target.outer is not None:
            yield from _inside(target.outer, target.name) if near else ()
        elif target.owner is None:
            yield from self._named(target, target.name, near=near)
        elif target.name in {"__init__", "__post_init__", "__new__", "__call__", "__enter__"}:
            if near:
                yield Mention(target.module, target.node.lineno, None, target.owner)
        else:
            yield from self._method(target, target.owner, near=near, sure=sure)

    def _named(self, target: Target, name: str, *, near: bool) -> Iterator[Mention]:
        """Mentions of a name that leads to this very definition."""
        module = target.module
        for other in self._modules(module, name, near=near):
            aliases = {alias for alias, entry in other.imports.items() if entry.attribute == name} | {name}
            for alias in sorted(aliases):
                if self.program.lookup(other, alias) == target or (other is module and alias == name):
                    yield from _uses(self.program, other, alias, by_name=True)
            for use in _uses(self.program, other, name, by_name=False):
                if self.program.member(self._space(other, use), name) == target:
                    yield use.mention

    def _modules(self, module: Module, name: str, *, near: bool) -> Iterator[Module]:
        """Those that mention it; of very many, those that also mention where it comes from."""
        if near:
            yield module
            return
        files = [file for file in self.program.files_mentioning(name) if file != module.file]
        close: set[str] | None = None
        if len(files) > _MANY:
            close = set()
            for part in module.dotted.split(".")[-2:]:
                close.update(self.program.files_mentioning(part))
        for file in files:
            if (close is None or file in close) and (found := self.program.module(file)):
                yield found

    def _space(self, module: Module, use: "AttributeUse") -> Module | None:
        found = self.program.expression(module, use.node.value)
        return found if isinstance(found, Module) else None

    def _method(self, target: Function, owner: Class, *, near: bool, sure: bool) -> Iterator[Mention]:
        for module in [target.module] if near else self._elsewhere(target, owner, sure=sure):
            for use in _uses(self.program, module, target.name, by_name=False):
                yield from self._of_method(module, use, owner)

    def _elsewhere(self, target: Function, owner: Class, *, sure: bool) -> Iterator[Module]:
        """Other files that may call a method; surely, only those that know its class, or that its class comes from."""
        files = [file for file in self.program.files_mentioning(target.name) if file != target.module.file]
        if sure:
            line = self.program.lineage(owner)
            close = {one.module.file for one in line} | set(self.program.files_mentioning(owner.name))
            files = [file for file in files if file in close]
        for file in files:
            if found := self.program.module(file):
                yield found

    def _of_method(self, module: Module, use: "AttributeUse", owner: Class) -> Iterator[Mention]:
        """Whether `receiver.name` may be this class's method."""
        receiver, caller = use.node.value, use.mention.caller
        around = caller.owner or (caller.outer.owner if caller.outer else None) if caller else None
        if isinstance(receiver, ast.Name) and receiver.id in {"self", "cls"}:
            if around and self._related(around, owner):
                yield use.mention
        elif isinstance(receiver, ast.Call) and last_name(receiver.func) == "super":
            if around and owner in self.program.lineage(around)[1:]:
                yield use.mention
        else:
            named = self.program.expression(module, receiver)
            if isinstance(named, Class):
                if self._related(named, owner):
                    yield use.mention
            elif not isinstance(named, Module):
                yield _unsure(use.mention)

    def _related(self, one: Class, other: Class) -> bool:
        return self.program.related(one, other)


@dataclass(frozen=True)
class AttributeUse:
    """`something.name`."""

    node: ast.Attribute
    mention: Mention


def _unsure(mention: Mention) -> Mention:
    return Mention(
        mention.module,
        mention.line,
        mention.caller,
        mention.owner,
        mention.variable,
        sure=False,
        ranks=mention.ranks,
    )


def _title(target: Target) -> str:
    return target.title if isinstance(target, Function) else target.name


def _inside(outer: Function, name: str) -> Iterator[Mention]:
    """Uses of a nested function, in the one around it."""
    for node in ast.walk(outer.node):
        if isinstance(node, ast.Name) and node.id == name:
            yield Mention(outer.module, node.lineno, outer)


def _uses(program: Program, module: Module, name: str, *, by_name: bool) -> Iterator:
    """Where the module uses it as a value: not in an annotation, an import or an isinstance."""
    if module.broken:
        return
    visited: set[ast.AST] = set()
    for line in module.lines_mentioning(name):
        function = module.function_at(line)
        top = function.node if function else _statement_at(module.body, line)
        if top is None or top in visited:
            continue
        visited.add(top)
        finder = _Finder(program, module, name, by_name=by_name)
        finder.within(top, function)
        yield from finder.found


def _statement_at(body: list[ast.stmt], line: int) -> ast.stmt | None:
    return next((one for one in body if one.lineno <= line <= (one.end_lineno or one.lineno)), None)


class _Finder:
    """Walks one function, or one statement of a module's own level, with the branches around each place."""

    def __init__(self, program: Program, module: Module, name: str, *, by_name: bool) -> None:
        self.program, self.module, self.name, self.by_name = program, module, name, by_name
        self.found: list = []
        self.function: Function | None = None
        self.owner: Class | None = None
        self.variable = ""
        self.tests: dict[str, ast.expr] = {}
        self.starting = False

    def within(self, top: ast.AST, function: Function | None) -> None:
        """Look through it."""
        self.function = function
        if function:
            self.tests = local_tests(function.node)
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
            self.tests,
            branch=branch,
            leaf=lambda node: hides_rank_test(node, self.function, self.program),
        )

    def _block(self, statements: list[ast.stmt], ranks: int) -> None:
        for one in statements:
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
        self._block(one.body, ranks or (one.lineno if self._ranks(one.test, branch=True) else 0))
        middle = len(self.found)
        self._block(one.orelse, ranks or (one.lineno if self._ranks(one.test, branch=False) else 0))
        if not ranks and start < middle < len(self.found):
            self.found[start:] = [_unrestricted(use, one.lineno) for use in self.found[start:]]

    def _match(self, one: ast.Match, ranks: int) -> None:
        self._expression(one.subject, ranks)
        limited = ranks or (one.lineno if is_rank(one.subject) else 0)
        for case in one.cases:
            self._block(case.body, limited)

    def _statement(self, one: ast.AST, ranks: int) -> None:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            if self.function is None:
                return  # it is looked through by itself
            self._signature(one)
            return
        if isinstance(one, ast.ClassDef):
            self._class(one, ranks)
            return
        if isinstance(one, ast.Import | ast.ImportFrom):
            return
        if isinstance(one, ast.If) and self.function is None and "__main__" in ast.unparse(one.test):
            return  # another program's beginning
        if isinstance(one, ast.If):
            self._arms(one, ranks)
            return
        if isinstance(one, ast.Match):
            self._match(one, ranks)
            return
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            self.variable = one.targets[0].id
        elif isinstance(one, ast.AnnAssign):
            self.variable = one.target.id if isinstance(one.target, ast.Name) else ""
            if one.value is not None:
                self._expression(one.value, ranks)
            self.variable = ""
            return
        for _, value in ast.iter_fields(one):
            parts = value if isinstance(value, list) else [value]
            if parts and isinstance(parts[0], ast.stmt):
                self._block(parts, ranks)
                continue
            for inner in parts:
                if isinstance(inner, ast.expr):
                    self._expression(inner, ranks)
                elif isinstance(inner, ast.excepthandler):
                    self._block(inner.body, ranks)
                elif isinstance(inner, ast.withitem):
                    self._expression(inner.context_expr, ranks)
        self.variable = ""

    def _class(self, one: ast.ClassDef, ranks: int) -> None:
        before, self.owner = self.owner, self._class_of(one)
        for inner in one.body:
            if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
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
            return
        if isinstance(node, ast.IfExp):
            self._expression(node.test, ranks)
            for branch, one in ((True, node.body), (False, node.orelse)):
                self._expression(one, ranks or (node.lineno if self._ranks(node.test, branch=branch) else 0))
            return
        if isinstance(node, ast.BoolOp):
            for one in node.values:
                self._expression(one, ranks)
                ranks = ranks or (node.lineno if self._ranks(one, branch=isinstance(node.op, ast.And)) else 0)
            return
        ranks = ranks or (node.lineno if _picks_by_rank(node) else 0)
        if isinstance(node, ast.Call) and last_name(node.func) in _STARTS and not self.starting:
            self.starting = True
            self._expression(node, ranks)
            self.starting = False
            return
        if isinstance(node, ast.Attribute) and node.attr == self.name and not self.by_name:
            self.found.append(AttributeUse(node, self._mention(node, ranks)))
        elif (
            isinstance(node, ast.Name)
            and node.id == self.name
            and self.by_name
            and isinstance(node.ctx, ast.Load)
        ):
            self.found.append(self._mention(node, ranks))
        elif (
            isinstance(node, ast.Attribute)
            and self.by_name
            and isinstance(node.value, ast.Name)
            and node.value.id == self.name
        ):
            return  # `Class.CONSTANT`, `Class.method`: the method is looked for by its own name
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
    func = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(func, ast.Attribute) and func.attr == "get" and any(is_rank(one) for one in node.args[:1])
    )  # type: ignore[attr-defined]


def _unrestricted(use: "Mention | AttributeUse", line: int) -> "Mention | AttributeUse":
    mention = use.mention if isinstance(use, AttributeUse) else use
    if mention.ranks != line:
        return use
    free = replace(mention, ranks=0)
    return replace(use, mention=free) if isinstance(use, AttributeUse) else free


def _ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
