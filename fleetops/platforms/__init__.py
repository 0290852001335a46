"""How a node is reset, one file per kind of platform, found by this folder: each defines `PLATFORM`. Pure."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from fleetops.model.errors import Refused
from fleetops.model.fleet import Node
from fleetops.platforms.base import Platform


@cache
def all_platforms() -> Mapping[str, Platform]:
    """Every platform by its kind."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if found.name not in {"base", "support"}
    )
    return {module.PLATFORM.kind: module.PLATFORM for module in modules}


def kind_of(node: Node) -> str:
    """The platform kind of a node: its guest's kind, or `bare`."""
    return node.guest.kind if node.guest else "bare"


def platform_of(node: Node) -> Platform:
    """The platform of a node. Raises Refused for a kind that no file here knows."""
    kind = kind_of(node)
    try:
        return all_platforms()[kind]
    except KeyError:
        raise Refused(
            f"{node.name} is a {kind} node, and only {', '.join(all_platforms())} nodes can be reset",
            guard="platform",
            host=node.name,
            hint=f"fleetops probe {node.name}",
        ) from None
