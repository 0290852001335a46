"""One file per fact: the command that reads it and the pure parser of what comes back.

A module of this folder with `FACT` (or with a function `fact`, where the fact needs arguments) is a fact;
the others are what several facts share.
"""

import importlib
import pkgutil
from typing import Any

from fleetops.model.fact import Fact


def names() -> tuple[str, ...]:
    """The module names of all facts, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in found if _is_fact(name)))


def build(name: str, *arguments: Any) -> Fact[Any]:
    """The fact of that module name; `arguments` for those that need some. Raises LookupError for an unknown name."""
    if name not in names():
        message = f"no fact is called {name}; there are: {', '.join(names())}"
        raise LookupError(message)
    module = importlib.import_module(f"{__name__}.{name}")
    made = module.FACT if hasattr(module, "FACT") else module.fact(*arguments)
    assert isinstance(made, Fact)  # noqa: S101 - for the type checker; a test builds every fact
    return made


def _is_fact(name: str) -> bool:
    module = importlib.import_module(f"{__name__}.{name}")
    return hasattr(module, "FACT") or hasattr(module, "fact")
