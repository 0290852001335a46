"""A lab of a test's own: brought up in a folder, and gone afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.privilege import LabUnavailable


@contextmanager
def fresh_lab(folder: Path) -> Iterator[Lab]:
    """The lab, up; skips plainly where this machine forbids it."""
    try:
        lab = api.up(folder, bound=True)
    except LabUnavailable as error:
        pytest.skip(f"the lab cannot run here: {error.message}")
    try:
        yield lab
    finally:
        api.down(folder)
