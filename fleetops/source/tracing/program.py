"""The whole package as names that lead to definitions; files are parsed when something in them is looked for."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from fleetops.source.packages.base import Package
from fleetops.source.tracing.definitions import Class, Function, Import, Module, last_name, parse_module
from fleetops.source.tree import Tree

_HOPS = 12


@dataclass(frozen=True)
class External:
    """A name of another package, dotted (`torch.empty`), or of Python itself (`int`)."""

    dotted: str


@dataclass(frozen=True)
class Variable:
    """A module's own variable."""

    module: Module
    name: str


@dataclass(frozen=True)
class Broken:
    """A name that leads into a file that does not parse."""

    why: str


Definition = Function | Class | Module | Variable | External | Broken


@dataclass
class Program:
    """Definitions of one tree. `broken` collects the files that were wanted and do not parse."""

    tree: Tree
    package: Package
    broken: dict[str, str] = field(default_factory=dict)
    _modules: dict[str, Module | None] = field(default_factory=dict)
    rank_tests: dict[object, bool] = field(default_factory=dict)
    _lineages: dict[Class, list[Class]] = field(default_factory=dict)

    @property
    def travels(self) -> bool:
        """Whether only what is asked for comes from a node, and more of it may still come."""
        return isinstance(getattr(self.tree, "wanted", None), set)

    def files_mentioning(self, name: str) -> tuple[str, ...]:
        """Without the folders of other programs (tests, benchmarks)."""
        return tuple(file for file in self.tree.mentioning(name) if not self.package.leaves_out(file))

    def module(self, file: str) -> Module | None:
        """The parsed file; None where it is not in the tree."""
        if file not in self._modules:
            try:
                text = self.tree.text(file)
            except KeyError:
                return None  # it may still travel
            module = parse_module(file, self._dotted(file), text)
            if module.broken:
                self.broken[file] = module.broken
            self._modules[file] = module
        return self._modules[file]

    def module_with(self, file: str, written: re.Pattern[str]) -> Module | None:
        """The parsed file, where its text has that; parsing costs a hundred times as much as a look at the text."""
        if file not in self._modules:
            try:
                if not written.search(self.tree.text(file)):
                    return None
            except KeyError:
                return None  # it may still travel
        return self.module(file)

    def modules_mentioning(self, name: str) -> Iterator[Module]:
        """Parsed, in order."""
        for file in self.files_mentioning(name):
            if module := self.module(file):
                yield module

    def _dotted(self, file: str) -> str:
        parts = file.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join([self.package.name, *parts])

    def module_named(self, dotted: str, because: str) -> Module | None:
        """The module of that dotted name, which has to mention `because` to have travelled."""
        head, *parts = dotted.split(".")
        if head != self.package.name:
            return None
        if self.travels:
            self.tree.mentioning(because)
        stem = "/".join(parts)
        for file in (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py"):
            if module := self.module(file):
                return module
        return None

    def lookup(self, module: Module, name: str, hops: int = _HOPS) -> Definition | None:
        """What a name at the module's level stands for; None where nothing defines it."""
        if name in module.assigns and (name in module.classes or name in module.functions):
            rebound = [one for one in module.assigns[name] if not isinstance(one, ast.Constant)]
            if any(isinstance(one, ast.Call) for one in rebound):
                return Variable(module, name)
        if name in module.functions:
            return module.functions[name]
        if name in module.classes:
            return module.classes[name]
        if name in module.assigns:
            return Variable(module, name)
        if name in module.imports:
            return self.imported(module.imports[name], hops - 1)
        for star in module.stars:
            source = self.module_named(star, name)
            if source and hops and (found := self.lookup(source, name, hops - 1)):
                return found
        return External(name) if name in _BUILTINS else None

    def imported(self, entry: Import, hops: int = _HOPS) -> Definition | None:
        """What an import leads to, over re-exports."""
        if entry.dotted.split(".")[0] != self.package.name:
            return External(f"{entry.dotted}.{entry.attribute}".rstrip("."))
        if hops <= 0:
            return None
        if not entry.attribute:
            return self.module_named(entry.dotted, entry.dotted.split(".")[-1])
        source = self.module_named(entry.dotted, entry.attribute)
        if source and source.broken:
            return Broken(source.broken)
        if source and (found := self.lookup(source, entry.attribute, hops)):
            return found
        return self.module_named(f"{entry.dotted}.{entry.attribute}", entry.attribute)

    def member(self, of: Definition | None, name: str) -> Definition | None:
        """`of.name` for a module, a class or another package."""
        if isinstance(of, Module):
            found = self.lookup(of, name)
            return found or self.module_named(f"{of.dotted}.{name}", name)
        if isinstance(of, External):
            return External(f"{of.dotted}.{name}")
        if isinstance(of, Class):
            return self.method(of, name) or of.classes.get(name)
        return None

    def bases(self, one: Class) -> list[Class | External]:
        """The classes that its statement names; what cannot be resolved is left out."""
        found: list[Class | External] = []
        for expression in one.node.bases:
            target = self.expression(one.module, expression)
            if isinstance(target, Class | External):
                found.append(target)
        return found

    def expression(self, module: Module, node: ast.expr) -> Definition | None:
        """What a dotted name at the module's level stands for; `Generic[T]` stands for Generic."""
        if isinstance(node, ast.Subscript):
            return self.expression(module, node.value)
        if isinstance(node, ast.Name):
            return self.lookup(module, node.id)
        if isinstance(node, ast.Attribute):
            return self.member(self.expression(module, node.value), node.attr)
        return None

    def lineage(self, one: Class) -> list[Class]:
        """The class and its bases in the order in which methods are looked for (depth first, the last of doubles)."""
        if one in self._lineages:
            return self._lineages[one]
        found: list[Class] = []
        self._walk_up(one, found, _HOPS)
        kept = list(dict.fromkeys(reversed(found)))
        line = list(reversed(kept))
        if not self.travels:  # what has yet to travel may add bases
            self._lineages[one] = line
        return line

    def _walk_up(self, one: Class, found: list[Class], hops: int) -> None:
        found.append(one)
        for base in self.bases(one) if hops else ():
            if isinstance(base, Class) and base is not one:
                self._walk_up(base, found, hops - 1)

    def method(self, one: Class, name: str, *, after: Class | None = None) -> Function | None:
        """The method that a call would take; `after`: the next one behind that class (`super()`)."""
        line = self.lineage(one)
        if after in line:
            line = line[line.index(after) + 1 :]
        return next((base.methods[name] for base in line if name in base.methods), None)

    def subclasses(self, one: Class) -> list[Class]:
        """Direct ones, anywhere in the tree."""
        return [
            other
            for module in self.modules_mentioning(one.name)
            for other in module.classes.values()
            if any(last_name(_bare(base)) == one.name for base in other.node.bases)
            and one in self.bases(other)
        ]

    def related(self, one: Class, other: Class) -> bool:
        """Whether one is the other, or derives from it, either way round."""
        return one is other or one in self.lineage(other) or other in self.lineage(one)

    @cached_property
    def methods_named(self) -> "MethodIndex":
        """Methods by name, over the whole tree."""
        return MethodIndex(self)


@dataclass
class MethodIndex:
    """Methods by name, found when asked for."""

    program: Program
    _known: dict[str, tuple[Function, ...]] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Function, ...]:
        """Every method of that name."""
        if name not in self._known:
            found = tuple(
                one
                for file in self.program.files_mentioning(name)
                if (module := self.program.module_with(file, _definition_of(name)))
                for one in module.every_function
                if one.owner and one.name == name
            )
            if self.program.travels:
                return found  # more may still travel
            self._known[name] = found
        return self._known[name]


@lru_cache(maxsize=1024)
def _definition_of(name: str) -> re.Pattern[str]:
    """A function of that name."""
    return re.compile(rf"def(?<!\wdef)(?:\s|\\)+{re.escape(name)}\b")


@lru_cache(maxsize=1024)
def attribute_named(name: str) -> re.Pattern[str]:
    """`.name`, also where a line ends, or a comment stands, between the two."""
    return re.compile(rf"\.(?:\s|\\|#[^\n]*\n)*{re.escape(name)}\b")


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


_BUILTINS = frozenset(dir(builtins))
