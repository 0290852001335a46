"""The ways in which a lab's node can be broken: one file each, found by this folder.

A file defines NAME; SUMMARY, a line; EXPLANATION, what really happens on such a node and what one sees there;
PLATFORMS, the kinds of node to which it can happen; and `apply(folder, node)`, which breaks the node of the lab in
`folder`, whatever state it is in, and returns when it is broken. What clearing a node does not undo by itself (a knob
of its hypervisor, say) the file undoes in `undo(folder, node)`, which does nothing where nothing was done.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from fleetops.model.errors import UsageError

Platforms = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Breakage:
    """One way to break a node.

    Attributes:
        platforms: kinds of node to which it can happen: lxc, vm, bare.
        apply, undo: take the lab's folder and the node's name.
    """

    name: str
    summary: str
    explanation: str
    platforms: Platforms
    apply: Callable[[Path, str], None]
    undo: Callable[[Path, str], None]


def all_breakages() -> tuple[Breakage, ...]:
    """Every breakage there is, by name."""
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    found = (_breakage(module) for module in modules if hasattr(module, "NAME"))
    return tuple(sorted(found, key=lambda each: each.name))


def breakage(kind: str) -> Breakage:
    """The breakage of that name. Raises UsageError with the nearest one."""
    known = {each.name: each for each in all_breakages()}
    if kind in known:
        return known[kind]
    near = difflib.get_close_matches(kind, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"no breakage is called {kind}", hint=hint)


def _breakage(module: ModuleType) -> Breakage:
    return Breakage(
        name=module.NAME,
        summary=module.SUMMARY,
        explanation=module.EXPLANATION,
        platforms=module.PLATFORMS,
        apply=module.apply,
        undo=getattr(module, "undo", _nothing),
    )


def _nothing(_folder: Path, _node: str) -> None:
    """Clearing the node undoes it."""
