"""The inference engines, one file each, found by this folder: a new engine is one new file that defines `ENGINE`."""

import importlib
import pkgutil
from functools import cache

from fleetops.engines.base import Engine, Generation, PoolSizes
from fleetops.model.errors import UsageError

__all__ = ["Engine", "Generation", "PoolSizes", "engine", "engines"]


@cache
def engines() -> tuple[Engine, ...]:
    """Every engine that fleetops knows, by name."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
    )
    found: list[Engine] = [module.ENGINE for module in modules if hasattr(module, "ENGINE")]
    return tuple(sorted(found, key=lambda one: one.name))


def engine(name: str) -> Engine:
    """The engine of that name. Raises UsageError naming those that exist."""
    for one in engines():
        if one.name == name:
            return one
    raise UsageError(
        f"there is no engine {name!r}", hint=f"known engines: {', '.join(one.name for one in engines())}"
    )
