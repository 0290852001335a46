"""The ways in which a lab's node can be broken: one file each, found by this folder.

A file defines NAME, SUMMARY and `apply(folder, node)`, which breaks the node of the lab in `folder`, whatever
state it is in, and returns when it is broken.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetops.model.errors import UsageError


@dataclass(frozen=True)
class Breakage:
    """One way to break a node. `apply` takes the lab's folder and the node's name."""

    name: str
    summary: str
    apply: Callable[[Path, str], None]


def all_breakages() -> tuple[Breakage, ...]:
    """Every breakage there is, by name."""
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    found = (
        Breakage(module.NAME, module.SUMMARY, module.apply) for module in modules if hasattr(module, "NAME")
    )
    return tuple(sorted(found, key=lambda each: each.name))


def breakage(kind: str) -> Breakage:
    """The breakage of that name. Raises UsageError with the nearest one."""
    known = {each.name: each for each in all_breakages()}
    if kind in known:
        return known[kind]
    near = difflib.get_close_matches(kind, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"no breakage is called {kind}", hint=hint)
