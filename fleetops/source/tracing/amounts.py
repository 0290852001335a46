"""The flag's value with what has been done to it, where, and by what: amounts, symbols, and the places on the way."""

import ast
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from fleetops.model.proof import Role, Share
from fleetops.source.tracing.definitions import Function, Module
from fleetops.source.tracing.texts import unparsed

# A pool of memory is no machine's memory.
_MEMORY = re.compile(r"memory(?!_?pool)|(^|[^a-z])mem($|_(?!pool))|available|(total|free)_gpu", re.IGNORECASE)


@lru_cache(maxsize=65536)
def names_memory(text: str) -> bool:
    """Whether it is written as what a machine has of memory."""
    return bool(_MEMORY.search(text))


@dataclass(frozen=True)
class Symbol:
    """Something that is not the flag's value, as far as it matters to it.

    Attributes:
        text: how it is written where it comes from.
        parallel: parallel sizes that it counts, with their power: ((`tp_size`, 1),).
        counts_bytes: it is a number of bytes, or bytes for each of something.
        mixed: a parallel size is in it, among other things.
        terms: where it is a sum: what it is a sum of, by text.
        rank_test: it is true on some ranks only.
        share: it is a part of one (a summand divided by its sum).
        factor: the unit in it (`size_per_token / 1e9` counts gigabytes).
        parameter: the parameter of the function at hand that it is, "" for anything else.
        memory: it is what a machine or a device has of memory, or has left; False: it is something else (a tensor's
            size, a number of tokens); None: nothing but its text tells.
        given_by: the method of something unknown that gave it, "" for anything else.
    """

    text: str
    parallel: tuple[tuple[str, int], ...] = ()
    counts_bytes: bool = False
    mixed: bool = False
    terms: frozenset[str] = frozenset()
    rank_test: bool = False
    share: bool = False
    parameter: str = ""
    factor: Fraction = Fraction(1)
    memory: bool | None = None
    given_by: str = ""

    @cached_property
    def of_memory(self) -> bool:
        """Whether a share of it is a share of a machine's memory."""
        return names_memory(self.text) if self.memory is None else self.memory


@dataclass(frozen=True)
class Answer:
    """What a function of the package answers, asked about this: `fits(pool, ...)` is true."""

    function: str
    about: str
    truth: bool


def answer(test: ast.expr, *, truth: bool) -> Answer | None:
    """Of a test that is such a call, or the opposite of one."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.args:
        return Answer(test.func.id, unparsed(test.args[0]), truth)
    return None


@dataclass(frozen=True)
class Step:
    """A place on the way, still as a node."""

    module: Module
    line: int
    text: str
    role: Role
    note: str = ""


@dataclass(frozen=True)
class Call:
    """One call on the stack: where, and which of several callees was taken."""

    node: ast.AST
    choice: int = 0

    def __hash__(self) -> int:
        return id(self.node) + self.choice


@dataclass(frozen=True)
class Guard:
    """A branch that was taken: the test, which way, in which call, and whether only some ranks go that way."""

    path: tuple[Call, ...]
    node: ast.AST
    test: ast.expr
    branch: bool
    module: Module = field(compare=False)
    ranks: bool = field(compare=False, default=False)

    @cached_property
    def _hash(self) -> int:
        return hash((self.path, id(self.node), self.branch))

    def __hash__(self) -> int:
        return self._hash

    @property
    def text(self) -> str:
        """The test as it is written: the same test is the same wherever it stands."""
        return unparsed(self.test)

    @property
    def said(self) -> str:
        """What holds where this way is gone."""
        return self.text if self.branch else f"not ({self.text})"

    @property
    def subject(self) -> str:
        """What an `isinstance` test is about; "" for another test."""
        test = self.test
        is_kind = (
            isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"
        )
        return unparsed(test.args[0]) if is_kind and isinstance(test, ast.Call) and test.args else ""


@dataclass(frozen=True)
class Site:
    """Where the flag's bare number is turned into an amount of something.

    Attributes:
        name: of the class or function around it.
        path: the calls that led there; guards: the branches taken on the way; loops: those around it;
            root: the function from which it was followed; multiplies: a count or an amount was multiplied by it;
            memory: that was a machine's memory;
            parallel, moved: what it had been divided by, and what had been added, until then;
            depth: how many functions were being followed.
    """

    module: Module
    line: int
    text: str
    name: str
    path: tuple[Call, ...] = field(compare=False, default=())
    guards: tuple[Guard, ...] = field(compare=False, default=())
    loops: tuple[Call, ...] = field(compare=False, default=())
    root: Function | None = field(compare=False, default=None)
    multiplies: bool = field(compare=False, default=False)
    memory: bool = field(compare=False, default=False)
    depth: int = field(compare=False, default=0)
    parallel: tuple[tuple[str, int], ...] = field(compare=False, default=())
    moved: tuple[str, ...] = field(compare=False, default=())

    @cached_property
    def ways(self) -> dict[tuple[tuple[Call, ...], str], bool]:
        """Which way each test went on the way here, by the calls around it and its text."""
        return {(guard.path, guard.text): guard.branch for guard in self.guards}

    @cached_property
    def kinds(self) -> frozenset[tuple[tuple[Call, ...], str]]:
        """What was found to be of some class on the way here."""
        return frozenset(
            (guard.path, guard.subject) for guard in self.guards if guard.branch and guard.subject
        )


@dataclass(frozen=True)
class Amount:
    """The flag's value, and what has been done to it.

    The amount is value x coefficient x the symbols in `times` / those in `over`, up to rounding.

    Attributes:
        parallel: powers of parallel sizes in it: ((`tp_size`, -1),) has been divided by one.
        share: `part` once it has been split.
        complement: 1 - value has been taken.
        ranks: where only some ranks are given it (`file:line`).
        bounded: what else bounds it (`min(...)`), as text.
        moved: what was added to it before it became an amount of something, as text.
        site: where it became an amount of something; None while it is the flag's bare number.
        provided: what has to be so for it to be taken at all.
        capped: it is a few at most, whatever the flag says (`min(pages, 64)`), and so nobody's pool.
        of_requests: it is no more than a number of requests (`min(tokens // 2, max_num_reqs)`), each counted once.
    """

    coefficient: Fraction = Fraction(1)
    times: tuple[Symbol, ...] = ()
    over: tuple[Symbol, ...] = ()
    parallel: tuple[tuple[str, int], ...] = ()
    share: Share = "whole"
    complement: bool = False
    ranks: str = ""
    bounded: tuple[str, ...] = field(compare=False, default=())
    moved: tuple[str, ...] = ()
    site: Site | None = None
    provided: Answer | None = None
    capped: bool = False
    of_requests: bool = False
    trail: tuple[Step, ...] = field(compare=False, default=())

    @cached_property
    def _hash(self) -> int:
        """Once: amounts are merged, looked up and compared all the time."""
        return hash(
            (self.coefficient, self.times, self.over, self.parallel, self.share, self.moved, self.site)
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_bare(self) -> bool:
        """Whether it still is the flag's own number (or a part of it, or divided among ranks)."""
        return self.site is None

    @property
    def counts_rows(self) -> bool:
        """Whether it is a number of things that take bytes each, and not bytes itself."""
        return any(under.counts_bytes for under in self.over)

    @property
    def is_of_memory(self) -> bool:
        """Whether it has been told to be a share of a machine's memory, which it stays whatever is made of it."""
        site = self.site
        return bool(site and site.multiplies and not site.moved and (site.memory or self.complement))

    def settled(self) -> "Amount":
        """Of a share of memory: without what can no longer change its meaning.

        What counts then is who takes it, which part, and whether rows are counted. Otherwise every way to a row's bytes
        would make an amount of its own.
        """
        site = self.site
        if site is None or not self.is_of_memory:
            return self
        return replace(
            self,
            coefficient=Fraction(1),
            times=_OF_MEMORY,
            over=_ROW if self.counts_rows else (),
            parallel=site.parallel,
            moved=(),
        )

    def after(self, *steps: Step) -> "Amount":
        """With more of its way; what several operations of one line do is said together."""
        trail = self.trail
        for step in steps:
            last = trail[-1] if trail else None
            if last and (last.module, last.line, last.role) == (step.module, step.line, step.role):
                notes = ", ".join(dict.fromkeys(note for note in (last.note, step.note) if note))
                trail = (*trail[:-1], replace(step, note=notes))
            elif step not in trail:
                trail = (*trail, step)
        return replace(self, trail=trail)


_OF_MEMORY = (Symbol("memory", memory=True),)
_ROW = (Symbol("bytes of a row", counts_bytes=True),)


def powers(*terms: tuple[tuple[str, int], ...], sign: int = 1) -> tuple[tuple[str, int], ...]:
    """The product of powers; the last one's sign may be turned around (a division)."""
    total: dict[str, int] = {}
    for place, term in enumerate(terms):
        for name, power in term:
            turn = sign if place == len(terms) - 1 else 1
            total[name] = total.get(name, 0) + turn * power
    return tuple(sorted((name, power) for name, power in total.items() if power))
