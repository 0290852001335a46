"""Ways back from a function to where a process begins: in which process it runs, and on which ranks."""

import ast
import re
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from fleetops.source.tracing.callers import Callers, Target
from fleetops.source.tracing.definitions import Class, Function, Module
from fleetops.source.tracing.mentions import Mention
from fleetops.source.tracing.program import Program, Variable
from fleetops.source.tracing.ranks import decorator_tests_rank

_FARTHEST = 600  # places looked at
_CLOSE = 2  # calls away from the function, within which every caller counts
# How much farther than a caller in the same file: one in another file, one by a method's name alone.
_ELSEWHERE, _UNSURE = 2, 3


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


@dataclass(eq=False)
class Reach:
    """Ways back from functions to where processes begin."""

    program: Program
    _callers: Callers = field(init=False)
    _ways: dict[Target, list[Way]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._callers = Callers(self.program)

    def callers(self, target: Target) -> list[Mention]:
        """Every place that surely calls it or hands it on."""
        return self._callers.surely(target)

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
            for mention in self._callers.mentions(target, near=near, sure=sure):
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


def _title(target: Target) -> str:
    return target.title if isinstance(target, Function) else target.name
