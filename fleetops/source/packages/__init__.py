"""The packages whose flags can be explained, one file each: where processes begin, and what parallel sizes are called."""

import importlib
import pkgutil
from functools import cache

from fleetops.model.errors import UsageError
from fleetops.source.packages.base import Package

__all__ = ["Package", "package", "packages"]


@cache
def packages() -> tuple[Package, ...]:
    """Every package that is known, by name."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
    )
    found: list[Package] = [module.PACKAGE for module in modules if hasattr(module, "PACKAGE")]
    return tuple(sorted(found, key=lambda one: one.name))


def package(name: str) -> Package:
    """The package of that name. Raises UsageError naming those that are known."""
    for one in packages():
        if one.name == name:
            return one
    known = ", ".join(one.name for one in packages())
    raise UsageError(f"nothing is known of a package {name!r}", hint=f"known are {known}")
