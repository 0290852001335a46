"""The watcher as one file, as it travels to a node: its modules one after the other, their imports of each other left out."""

import inspect
from functools import cache
from types import ModuleType

from fleetops.steps.support.memory_guard import family, keeping, rooms, watcher

_MODULES: tuple[ModuleType, ...] = (rooms, family, keeping, watcher)
_FUTURE = "from __future__ import annotations"
_OWN = "from fleetops."


@cache
def program() -> str:
    """Its text: Python 3.8 or newer, the standard library alone."""
    return "\n".join([_FUTURE, *(_body(inspect.getsource(module)) for module in _MODULES)])


def _body(source: str) -> str:
    """One module without what is said once at the top, and without what stands above it in the same file."""
    return "\n".join(line for line in source.splitlines() if line != _FUTURE and not line.startswith(_OWN))
