"""The steps of playbooks, one file each, found by this folder: a new step is one new file that defines `STEP`.

Other packages add theirs by an entry point (steps/support/packages.py).
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from fleetops.steps.support.base import Step
from fleetops.steps.support.packages import Steps


@cache
def shipped_steps() -> Mapping[str, Step]:
    """The steps of this folder by their names in a playbook."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg
    )
    return {module.STEP.name: module.STEP for module in modules}


@cache
def all_steps() -> Steps:
    """Every step by its name in a playbook, those of packages included."""
    return Steps(shipped_steps())
