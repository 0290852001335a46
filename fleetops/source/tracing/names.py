"""What a name says: a parallel size, a number of bytes, a rank. Names of parallel sizes are the field's own."""

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from fleetops.source.packages.base import Package
from fleetops.source.tracing.amounts import Symbol
from fleetops.source.tracing.definitions import Function, last_name
from fleetops.source.tracing.values import Values

_PARALLEL = re.compile(
    r"(^|_)((tensor|pipeline|data|context|expert|sequence)(_model)?_parallel(_world)?_size"
    r"|(tp|pp|dp|ep|cp|dcp|pcp|attn_tp)_size|(tp|pp|dp)_world_size|world_size"
    r"|n(um)?_(kv_)?ranks|ranks_per_(host|node))(_per_(node|host))?$"
)
_GROUP = re.compile(r"(^|_)(tp|pp|dp|world|rank|cpu|device|parallel)_?group$")
_BYTES = re.compile(r"bytes|itemsize|element_size|size_per_token|cell_size|bytes_per|per_token_size")
_RANK = re.compile(
    r"(^|_)(gpu_id|device_id|worker_id|device_index)$|(^|_)rank(_id|_in_group)?$|(^|_)rank_(?!for|to|by)|^get_.*rank$"
)
# Of a matrix, which is nobody's place among processes.
_OF_MATRIX = re.compile(r"(^|_)(lora|low|matrix)_rank$")
_RANK_TEST = re.compile(
    r"(is_|_|^)(rank_?(0|zero)|(first|last|main|driver|leader|primary|master)_?(pp_|tp_)?(rank|worker|process))"
)


def symbol(text: str, name: str, package: Package) -> Symbol:
    """The symbol for an identifier (its last part), written as `text`."""
    parallel, in_bytes, rank_test = _says(name)
    if parallel or name in package.parallel_sizes:
        return Symbol(text, parallel=((name.removeprefix("get_").removeprefix("_"), 1),))
    return Symbol(
        text, counts_bytes=in_bytes, rank_test=rank_test, memory=False if name in OF_TENSORS else None
    )


OF_TENSORS = frozenset({"numel", "nbytes", "element_size", "itemsize"})


@lru_cache(maxsize=65536)
def _says(name: str) -> tuple[bool, bool, bool]:
    """Whether it is a parallel size, a number of bytes, a test of the rank."""
    lower = name.lower()
    return bool(_PARALLEL.search(name)), bool(_BYTES.search(lower)), bool(_RANK_TEST.search(lower))


_COUNT = re.compile(r"(size|pages|tokens|slots|blocks|capacity|memory|mem)\)?$")


def is_count(text: str) -> bool:
    """Whether it is written as a number of something that a ratio can be of."""
    return bool(_COUNT.search(text.lower()))


_REQUESTS = re.compile(
    r"([a-z_]+(\(\))?\.)*(max|num|n|total)_(\w+_)?(reqs|requests|seqs|sequences)( // [\w.()]+)?",
    re.IGNORECASE,
)
_OF_EACH = re.compile(r"token|page|slot|block|mem|len|size|_per_|_of_|_in_", re.IGNORECASE)


def counts_requests(text: str) -> bool:
    """Whether it is written as a number of requests, or of each rank's; not as what so many take."""
    written, _, _ = text.partition(" // ")
    name = written.rpartition(".")[2]
    return bool(_REQUESTS.fullmatch(text)) and not (_OF_EACH.search(name) or counts_bytes(name))


def counts_bytes(name: str) -> bool:
    """Whether a variable's name says that it is a number of bytes, or bytes for each of something."""
    return bool(_BYTES.search(name.lower()))


def group_size(node: ast.expr) -> Symbol | None:
    """`group.size()` and `group.size` of a process group, a parallel size."""
    inner = node.func if isinstance(node, ast.Call) else node
    if isinstance(inner, ast.Attribute) and inner.attr == "size":
        owner = last_name(inner.value)
        if _GROUP.search(owner):
            return Symbol(ast.unparse(node), parallel=((owner, 1),))
    return None


_COUNTED = re.compile(r"(^|_)(ranks|workers|tp_group|gpu_ids|world)$")


def counted(node: ast.Call) -> Symbol | None:
    """`len(ranks)`: a parallel size."""
    if last_name(node.func) == "len" and node.args and _COUNTED.search(last_name(node.args[0]).lower()):
        return Symbol(ast.unparse(node), parallel=((last_name(node.args[0]), 1),))
    return None


def is_rank(node: ast.expr) -> bool:
    """Whether an expression names a rank (`self.tp_rank`, `get_tensor_model_parallel_rank()`)."""
    if isinstance(node, ast.Call) and last_name(node.func) in {"int", "str", "bool"} and node.args:
        return is_rank(node.args[0])
    if isinstance(node, ast.Subscript):
        return _is_rank_key(node.slice)
    if (
        isinstance(node, ast.Call)
        and last_name(node.func) in {"get", "getenv"}
        and node.args
        and _is_rank_key(node.args[0])
    ):
        return True
    return _names_rank(last_name(node))


@lru_cache(maxsize=65536)
def _names_rank(name: str) -> bool:
    lower = name.lower()
    return bool(_RANK.search(lower)) and not _RANK_TEST.search(lower) and not _OF_MATRIX.search(lower)


def _is_rank_key(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and bool(_RANK.search(node.value.lower()))
    )


def tests_rank(node: ast.expr) -> bool:
    """Whether a name by itself says that it is true on some ranks only (`is_rank0`, `is_first_rank()`)."""
    return _says(last_name(node))[2]


def parameters(function: Function, package: Package) -> Mapping[str, Values]:
    """A function's parameters when nothing is known of its caller."""
    return _parameters(function.node.args, package)


@lru_cache(maxsize=16384)
def _parameters(spec: ast.arguments, package: Package) -> Mapping[str, Values]:
    every = [
        *spec.posonlyargs,
        *spec.args,
        *spec.kwonlyargs,
        *(one for one in (spec.vararg, spec.kwarg) if one),
    ]
    return MappingProxyType(
        {one.arg: (replace(symbol(one.arg, one.arg, package), parameter=one.arg),) for one in every}
    )
