"""Which places in the whole package call a definition, or hand it on."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fleetops.source.tracing.definitions import Class, Function, Module, last_name
from fleetops.source.tracing.mentions import Mention, Use, inside, uses_of
from fleetops.source.tracing.program import Program, Variable, attribute_named

_MANY = 16  # files that mention a name
Target = Function | Class | Variable


@dataclass(eq=False)
class Callers:
    """Places that call a definition, found when they are asked for."""

    program: Program
    _known: dict[tuple[Target, bool, bool], list[Mention]] = field(default_factory=dict)

    def surely(self, target: Target) -> list[Mention]:
        """Every place that surely calls it or hands it on."""
        return [*self.mentions(target, near=True, sure=True), *self.mentions(target, near=False, sure=True)]

    def mentions(self, target: Target, *, near: bool, sure: bool) -> list[Mention]:
        """Places that call it or hand it on: in its own file or in others, surely or by a method's name alone."""
        key = (target, near, sure or not isinstance(target, Function) or target.owner is None)
        if key not in self._known:
            self._known[key] = list(self._find(target, near=near, sure=sure))
        return self._known[key]

    def _find(self, target: Target, *, near: bool, sure: bool) -> Iterator[Mention]:
        if isinstance(target, Class):
            yield from self._named(target, target.name, near=near)
            if not near:
                for sub in self.program.subclasses(target):
                    yield Mention(sub.module, sub.node.lineno, None, sub)
        elif isinstance(target, Variable):
            yield from self._named(target, target.name, near=near)
        elif target.outer is not None:
            yield from inside(target.outer, target.name) if near else ()
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
                    yield from (use.mention for use in uses_of(self.program, other, alias, by_name=True))
            for use in uses_of(self.program, other, name, by_name=False):
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

    def _space(self, module: Module, use: Use) -> Module | None:
        found = self.program.expression(module, use.receiver) if use.receiver else None
        return found if isinstance(found, Module) else None

    def _method(self, target: Function, owner: Class, *, near: bool, sure: bool) -> Iterator[Mention]:
        for module in [target.module] if near else self._elsewhere(target, owner, sure=sure):
            for use in uses_of(self.program, module, target.name, by_name=False):
                yield from self._of_method(module, use, owner)

    def _elsewhere(self, target: Function, owner: Class, *, sure: bool) -> Iterator[Module]:
        """Other files that may call a method; surely, only those that know its class, or that its class comes from."""
        files = [file for file in self.program.files_mentioning(target.name) if file != target.module.file]
        if sure:
            line = self.program.lineage(owner)
            close = {one.module.file for one in line} | set(self.program.files_mentioning(owner.name))
            files = [file for file in files if file in close]
        for file in files:
            if found := self.program.module_with(file, attribute_named(target.name)):
                yield found

    def _of_method(self, module: Module, use: Use, owner: Class) -> Iterator[Mention]:
        """Whether `receiver.name` may be this class's method."""
        receiver, caller = use.receiver, use.mention.caller
        around = caller.owner or (caller.outer.owner if caller.outer else None) if caller else None
        if isinstance(receiver, ast.Name) and receiver.id in {"self", "cls"}:
            if around and self.program.related(around, owner):
                yield use.mention
        elif isinstance(receiver, ast.Call) and last_name(receiver.func) == "super":
            if around and owner in self.program.lineage(around)[1:]:
                yield use.mention
        elif receiver is not None:
            named = self.program.expression(module, receiver)
            if isinstance(named, Class):
                if self.program.related(named, owner):
                    yield use.mention
            elif not isinstance(named, Module):
                yield replace(use.mention, sure=False, starts=False)
