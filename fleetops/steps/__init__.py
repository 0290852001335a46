"""The steps of playbooks, one file each, found by this folder: a new step is one new file that defines `STEP`."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from fleetops.steps.support.base import Step


@cache
def all_steps() -> Mapping[str, Step]:
    """Every step by its name in a playbook."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg
    )
    return {module.STEP.name: module.STEP for module in modules}
