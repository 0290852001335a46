"""What an expression may stand for while a flag's value is followed."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fleetops.source.tracing.amounts import Amount, Answer, Call, Symbol
from fleetops.source.tracing.definitions import Class, Function, Module


@dataclass(frozen=True)
class Const:
    """A literal. `provided`: what has to be so for a variable to have kept it."""

    value: Any
    provided: Answer | None = None


@dataclass(frozen=True)
class Reference:
    """A function or a class as a value. `bound`: the object that a method belongs to; `scope`: variables
    around a nested one.
    """

    target: Function | Class
    bound: "Object | None" = None
    scope: Mapping[str, "Values"] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Foreign:
    """A function, class or module of another package, dotted."""

    dotted: str


@dataclass(frozen=True)
class Space:
    """A module of this package as a value."""

    module: Module


@dataclass(frozen=True)
class Object:
    """An instance of a class of this package. Equal only to itself: one for each construction."""

    of: Class
    path: tuple[Call, ...] = ()

    @cached_property
    def _hash(self) -> int:
        """Once: every attribute that is read or merged is looked up by its object."""
        return hash((self.of, self.path))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Object)
            and self._hash == other._hash
            and (self.of, self.path) == (other.of, other.path)
        )


@dataclass(frozen=True)
class Parent:
    """What `super()` gives: the object, and the class behind which methods are looked for."""

    self: Object
    behind: Class


@dataclass(frozen=True)
class Several:
    """A tuple or list of known length; each item has its alternatives."""

    items: tuple["Values", ...]


@dataclass(frozen=True)
class Each:
    """A sequence of unknown length whose items are all alike. `name`: what it is called where it was made."""

    item: "Values"
    name: str = ""


@dataclass(frozen=True)
class Table:
    """A dictionary: what is known by its keys, and what any other key may give."""

    items: tuple[tuple[Any, "Values"], ...] = ()
    other: "Values" = ()

    def get(self, key: Any) -> "Values":
        """By a constant key."""
        return next((values for name, values in self.items if name == key), self.other)

    def every(self) -> "Values":
        """By a key that is not known."""
        return union(*(values for _, values in self.items), self.other)


@dataclass(frozen=True)
class Partial:
    """`functools.partial`: a callee with arguments already given."""

    callee: "Value"
    arguments: tuple["Values", ...]
    keywords: tuple[tuple[str, "Values"], ...]


@dataclass(frozen=True)
class Lambda:
    """A lambda or nested function with the variables around it."""

    node: ast.Lambda
    scope: Mapping[str, "Values"] = field(compare=False)
    module: Module = field(compare=False)

    def __hash__(self) -> int:
        return id(self.node)


Value = (
    Const
    | Symbol
    | Amount
    | Reference
    | Foreign
    | Space
    | Object
    | Parent
    | Several
    | Each
    | Table
    | Partial
    | Lambda
)
Values = tuple[Value, ...]
# Of a call: positional ones, then those given by name (`**` for what is given by names that are not known).
Arguments = tuple[list[Values], dict[str, Values]]


_MOST = 10


def union(*alternatives: Iterable[Value]) -> Values:
    """All of them, each once, amounts first; beyond a dozen the ones that say least are dropped."""
    every = [value for values in alternatives for value in values]
    if len(every) <= 1:
        return tuple(every)
    seen = dict.fromkeys(every)
    if len(seen) <= 1:
        return tuple(seen)
    return tuple(sorted(seen, key=_says_little)[:_MOST])


def _says_little(value: Value) -> bool:
    """Whether there is no amount in it."""
    return not isinstance(value, Amount) and (
        not isinstance(value, Several | Each | Table | Partial) or next(_amounts((value,)), None) is None
    )


def amounts_in(values: Iterable[Value]) -> list[Amount]:
    """Every amount, also inside sequences and tables."""
    return list(_amounts(values))


def _amounts(values: Iterable[Value]) -> Iterator[Amount]:
    for value in values:
        if isinstance(value, Amount):
            yield value
        elif isinstance(value, Several):
            for item in value.items:
                yield from _amounts(item)
        elif isinstance(value, Each):
            yield from _amounts(value.item)
        elif isinstance(value, Table):
            yield from _amounts(value.every())
        elif isinstance(value, Partial):
            for given in (*value.arguments, *(one for _, one in value.keywords)):
                yield from _amounts(given)


def elements(value: Value) -> Values:
    """What an item of it may be."""
    if isinstance(value, Several):
        return union(*value.items)
    if isinstance(value, Each):
        return value.item
    if isinstance(value, Table):
        return tuple(Const(key) for key, _ in value.items)
    return ()


def limited(values: Values, place: str) -> Values:
    """Amounts that only some ranks are given."""
    return tuple(replace(one, ranks=one.ranks or place) if isinstance(one, Amount) else one for one in values)


def provided(values: Values, so: Answer) -> Values:
    """Amounts that are taken only where that is so."""
    return tuple(replace(one, provided=so) if isinstance(one, Amount) else one for one in values)


def handed_up(values: Values, depth: int) -> Values:
    """Amounts that a function has given back: whoever called it, at that depth, has made them as if by its own hand."""
    return tuple(_handed_up(one, depth) for one in values)


def _handed_up(value: Value, depth: int) -> Value:
    if isinstance(value, Amount) and value.site and value.site.depth > depth:
        return replace(value, site=replace(value.site, depth=depth))
    if isinstance(value, Several):
        return replace(value, items=tuple(handed_up(item, depth) for item in value.items))
    return value


def settled(values: Values) -> Values:
    """Amounts as they leave a function: alternatives that mean the same are one."""
    if not any(isinstance(one, Amount | Several) for one in values):
        return values
    return union(_settled(one) for one in values)


def _settled(value: Value) -> Value:
    if isinstance(value, Amount):
        return value.settled()
    if isinstance(value, Several):
        return replace(value, items=tuple(settled(item) for item in value.items))
    return value
