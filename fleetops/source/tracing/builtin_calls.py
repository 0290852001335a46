"""What calls outside the package do to a followed value: those that keep it, those that allocate, those that only look."""

import re
from collections.abc import Callable
from dataclasses import replace

from fleetops.source.tracing import names
from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.values import Const, Each, Several, Value, Values, elements, union

_KEEP = frozenset(
    {
        "int", "float", "round", "abs", "ceil", "floor", "trunc", "Decimal", "Fraction", "int64", "int32", "float32",
        "float64", "tensor", "as_tensor", "item", "to", "clone", "cpu", "cuda", "copy", "deepcopy", "cast", "reversed",
        "sorted", "index", "array", "detach", "long", "Size", "iter", "str",
    }
)  # fmt: skip
_LOOK = frozenset(
    {
        "repr", "format", "bool", "isinstance", "issubclass", "hash", "type", "len", "id", "print", "hasattr",
        "warn", "warning", "warning_once", "info", "info_once", "debug", "debug_once", "error", "exception", "log",
        "critical", "dumps", "asdict", "vars", "callable", "range", "isnan", "isfinite", "join", "encode", "startswith",
        "add_argument", "Field", "field", "Arg", "set_name", "all_reduce", "broadcast", "bin", "hex", "sha256", "md5",
        "any", "all", "observe", "labels", "add_attribute", "set_attribute", "Gauge", "Info",
    }
)  # fmt: skip
_ALLOCATES = re.compile(
    r"(^|_)(empty|zeros|ones|full)($|_)|alloc|pinned|mmap|sharedmemory|shared_memory|ftruncate|bytearray|malloc|hostregister"
    r"|host_register|empty_strided|create_buffer",
)
_FEW = 256
_RAISES = re.compile(r"(Error|Exception|Warning|Exit)$")
_READS_DICT = frozenset({"get", "pop", "setdefault", "getattr", "getenv"})


def keeps(name: str) -> bool:
    """Whether it gives back the value it was given, converted or rounded."""
    return name in _KEEP


def only_looks(name: str) -> bool:
    """Whether nothing can come of giving it the value: it is shown, tested or raised."""
    return name in _LOOK or bool(_RAISES.search(name))


def allocates(name: str) -> bool:
    """Whether by its name it allocates what it is told."""
    return bool(_ALLOCATES.search(name.lower())) and not name.lower().startswith(
        ("dealloc", "free", "can_", "is_")
    )


_SHARED = re.compile(r"mmap|ftruncate|fallocate|shared_?memory|shm_open|from_file", re.IGNORECASE)


def is_shared(text: str) -> bool:
    """Whether what allocates makes memory that other processes may map as well."""
    return bool(_SHARED.search(text))


def asks_by_name(name: str, positional: list[Values]) -> bool:
    """Whether it asks for something by its name: `d.get("x")`, `getattr(o, "x")`, `get_extra("x", default)`."""
    if name in _READS_DICT:
        return True
    first = positional[0] if len(positional) == 2 else ()
    return (
        name.startswith("get_")
        and len(first) == 1
        and isinstance(first[0], Const)
        and isinstance(first[0].value, str)
    )


def of_sequences(name: str, arguments: list[Values], text: str) -> Values | None:
    """Python's own functions on sequences; None for another function."""
    made = _SEQUENCES.get(name)
    return made(arguments, text) if made and arguments else None


def _bounded(arguments: list[Values], text: str) -> Values:
    every: list[Value] = []
    for values in arguments:
        spread = _spread(values, alone=len(arguments) == 1)
        amounts_here = [one for one in spread if isinstance(one, Amount)]
        every += amounts_here or spread
    amounts = [one for one in every if isinstance(one, Amount)]
    if not amounts:
        constants = [one for one in every if isinstance(one, Const)]
        sizes = [one for one in every if isinstance(one, Symbol) and one.parallel]
        bytes_too = any(isinstance(one, Symbol) and one.counts_bytes for one in every)
        if len(sizes) == 1 and len(constants) == len(every) - 1:
            return (sizes[0],)
        memory = any(isinstance(one, Symbol) and one.of_memory for one in every)
        return (Symbol(text, counts_bytes=bytes_too, memory=memory or None),)
    others = [one for one in every if not isinstance(one, Amount) and one not in (Const(0), Const(1))]
    if not others:
        return tuple(amounts)
    if text.startswith("max("):  # something else may be larger
        return tuple(replace(one, moved=(*one.moved, text)) for one in amounts)
    few = any(isinstance(one, Const) and _is_few(one.value) for one in others)
    requests = any(isinstance(one, Symbol) and names.counts_requests(one.text) for one in others)
    return tuple(
        replace(
            one,
            bounded=tuple(dict.fromkeys((*one.bounded, text))),
            capped=one.capped or (few and not one.is_bare),
            of_requests=one.of_requests or (requests and not one.is_bare),
        )
        for one in amounts
    )


def _is_few(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _FEW


def _sum(arguments: list[Values], text: str) -> Values:
    source = arguments[0]
    if any(isinstance(one, Amount) for one in _spread(source, alone=True)):
        return tuple(one for one in _spread(source, alone=True) if isinstance(one, Amount))
    called = {one.name for one in source if isinstance(one, Each) and one.name}
    texts = {one.text for value in source for one in elements(value) if isinstance(one, Symbol)}
    counts = any(one.counts_bytes for value in source for one in elements(value) if isinstance(one, Symbol))
    return (Symbol(text, terms=frozenset(called | texts), counts_bytes=counts),)


def _spread(values: Values, *, alone: bool) -> list[Value]:
    found: list[Value] = []
    for value in values:
        inner = elements(value) if alone or isinstance(value, Each) else ()  # `max(x, *more)`
        found += inner or (value,)
    return found


def _as_sequence(arguments: list[Values], _text: str) -> Values:
    return arguments[0]


def _zip(arguments: list[Values], _text: str) -> Values:
    return (Each((Several(tuple(_items(values) for values in arguments)),)),)


def _items(values: Values) -> Values:
    return union(*(elements(value) for value in values)) or values


def _enumerate(arguments: list[Values], _text: str) -> Values:
    return (Each((Several(((Symbol("index"),), _items(arguments[0]))),)),)


def _next(arguments: list[Values], _text: str) -> Values:
    return union(_items(arguments[0]), *arguments[1:])


_SEQUENCES: dict[str, Callable[[list[Values], str], Values]] = {
    "next": _next,
    "min": _bounded,
    "max": _bounded,
    "sum": _sum,
    "tuple": _as_sequence,
    "list": _as_sequence,
    "zip": _zip,
    "enumerate": _enumerate,
}
