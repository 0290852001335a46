"""What a run of the tracer keeps: frames, fields that hold the flag's value, and everything that was met on the way."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fleetops.model.proof import Role
from fleetops.source.tracing.amounts import Amount, Call, Guard, Site, Step
from fleetops.source.tracing.definitions import Class, Function, Module
from fleetops.source.tracing.program import Program
from fleetops.source.tracing.texts import line_text, written
from fleetops.source.tracing.values import Object, Values, amounts_in


class Noticed(Exception):  # noqa: N818 - nothing is wrong where it is raised
    """Something has been met, which is all that was asked for."""


@dataclass(eq=False)
class Frame:
    """One function being followed.

    Attributes:
        names: its variables; `returned`: what it has returned so far.
        gone: a statement has ended this branch (return, raise, continue, break).
        tests: variables that hold a test, by name, for guards that are named first.
    """

    module: Module
    function: Function | None = None
    this: Object | None = None
    names: dict[str, Values] = field(default_factory=dict)
    tests: dict[str, ast.expr] = field(default_factory=dict)
    returned: list[Values] = field(default_factory=list)
    global_names: set[str] = field(default_factory=set)
    gone: bool = False

    @property
    def title(self) -> str:
        """Of the function, or the file at its own level."""
        return self.function.title if self.function else self.module.file


@dataclass(frozen=True)
class Field:
    """An attribute, key or module variable that holds the value.

    Attributes:
        owner: whose it is; None where that is not known. root: the function from which its storing was met.
    """

    name: str
    amount: Amount
    owner: Class | None = None
    variable_of: Module | None = None
    root: Function | None = field(compare=False, default=None)


@dataclass(frozen=True)
class Met:
    """Something met on the way, and where: the root that was being followed, calls and guards around it."""

    amount: Amount
    step: Step
    root: Function | None
    function: Function | None
    path: tuple[Call, ...]
    guards: tuple[Guard, ...]
    loops: tuple[Call, ...] = ()
    why: str = ""

    @property
    def at(self) -> str:
        """`file:line`, for a person."""
        return f"{self.step.module.file}:{self.step.line}"


@dataclass(eq=False)
class Machine:
    """One flag being followed through one program.

    Attributes:
        flag: the field's name; `declared`: the classes that declare it.
        state: attributes of objects under construction; `kept`: the names of those that each object may have.
        interesting: functions whose calls are followed even without the value among their arguments.
        applied: writes of the flag's own field that have been taken into account, by file and line.
        allocations, losses, checks, overrides: what was met; `found`: fields that were stored.
        entered: functions that were followed; `followed_on`: in this root, and for which object.
        vague: it was given to something by a name that depends on who calls.
        results: of functions that have nothing to do with the value; `allocated`: amounts that memory was taken for.
    """

    program: Program
    flag: str
    declared: tuple[Class, ...] = ()
    state: dict[tuple[Object, str], Values] = field(default_factory=dict)
    kept: dict[Object, set[str]] = field(default_factory=dict)
    fields: dict[str, list[Field]] = field(default_factory=dict)
    interesting: set[Function] = field(default_factory=set)
    root: Function | None = None
    path: tuple[Call, ...] = ()
    guards: tuple[Guard, ...] = ()
    loops: tuple[Call, ...] = ()
    stack: list[Function] = field(default_factory=list)
    applied: set[tuple[str, int]] = field(default_factory=set)
    allocations: list[Met] = field(default_factory=list)
    losses: list[Met] = field(default_factory=list)
    checks: list[tuple[Met, ast.Compare]] = field(default_factory=list)
    overrides: list[Met] = field(default_factory=list)
    found: list[Field] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    results: dict[Any, Values] = field(default_factory=dict)
    allocated: set[tuple[Site, tuple[Call, ...]]] = field(default_factory=set)
    allocators: dict[tuple[Function, tuple[Call, ...]], tuple[Guard, ...]] = field(default_factory=dict)
    repeated: list[Met] = field(default_factory=list)
    entered: set[Function] = field(default_factory=set)
    followed_on: set[tuple[Function, Object | None]] = field(default_factory=set)
    vague: bool = False
    noticing: bool = False
    loop_depths: tuple[int, ...] = ()
    budget: int = 800_000

    def begin(self, made: Object) -> None:
        """An object is made (or made anew on the same way): nothing has been allocated for it yet."""
        depth = len(made.path)
        self.allocators = {key: one for key, one in self.allocators.items() if key[1][:depth] != made.path}

    def keep(self, owner: Object, name: str, values: Values) -> None:
        """As an attribute of an object under construction."""
        self.state[owner, name] = values
        self.kept.setdefault(owner, set()).add(name)

    def amounts_kept(self, owner: Object) -> list[Amount]:
        """In all attributes of an object under construction, as things stand on this branch."""
        return [
            amount
            for name in sorted(self.kept.get(owner, ()))
            for amount in amounts_in(self.state.get((owner, name), ()))
        ]

    def is_allocated(self, amount: Amount) -> bool:
        """Whether memory has been taken for this very amount."""
        return amount.site is not None and (amount.site, amount.site.path) in self.allocated

    def met(self, amount: Amount, step: Step, frame: Frame, why: str = "") -> Met:
        """Something met here and now. Raises Noticed while that is all that is asked for; a mere test does not count."""
        if self.noticing and (step.role != "check" or not amount.is_bare):
            raise Noticed
        return Met(
            amount=amount.after(step),
            step=step,
            root=self.root,
            function=frame.function,
            path=self.path,
            guards=self.guards,
            loops=self.loops,
            why=why,
        )

    def step(self, frame: Frame, node: ast.AST, role: Role, note: str = "", text: str = "") -> Step:
        """A place in the file at hand."""
        line = getattr(node, "lineno", 1)
        return Step(frame.module, line, text or line_text(frame.module, line), role, note)

    def site(self, frame: Frame, node: ast.expr) -> Site:
        """Here and now, as the place where the number becomes an amount."""
        owner = frame.function.owner if frame.function else None
        return Site(
            module=frame.module,
            line=node.lineno,
            text=written(node),
            name=owner.name if owner else frame.title,
            path=self.path,
            guards=self.guards,
            loops=self.loops,
            root=self.root,
            depth=len(self.stack),
        )

    @contextmanager
    def probing(self) -> Iterator[None]:
        """While it is only asked whether anything is met at all."""
        self.noticing = True
        try:
            yield
        finally:
            self.noticing = False

    @contextmanager
    def called(self, call: Call) -> Iterator[None]:
        """While a call is followed."""
        before = self.path
        self.path = (*before, call)
        try:
            yield
        finally:
            self.path = before

    @contextmanager
    def looping(self, node: ast.AST) -> Iterator[None]:
        """While a loop's body is followed."""
        before = self.loops, self.loop_depths
        self.loops = (*self.loops, Call(node))
        self.loop_depths = (*self.loop_depths, len(self.stack))
        try:
            yield
        finally:
            self.loops, self.loop_depths = before

    @contextmanager
    def guarded(
        self, frame: Frame, node: ast.AST, test: ast.expr, *, branch: bool, ranks: bool
    ) -> Iterator[None]:
        """While one branch is followed."""
        before = self.guards
        self.guards = (*before, Guard(self.path, node, test, branch, frame.module, ranks))
        try:
            yield
        finally:
            self.guards = before

    def hold(self, field: Field) -> None:
        """A field has been given the value. Raises Noticed while that is all that is asked for."""
        if self.noticing:
            raise Noticed
        if field not in self.found:
            self.found.append(replace(field, root=self.root))

    def lose(self, frame: Frame, node: ast.AST, amount: Amount, why: str) -> None:
        """The value goes where it cannot be followed."""
        self.losses.append(self.met(amount, self.step(frame, node, "argument"), frame, why))
