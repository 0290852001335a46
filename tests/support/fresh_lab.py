"""A lab of a test's own: brought up in a folder, and gone afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.privilege import LabUnavailable


def hurry(lab: Lab) -> None:
    """Profiles whose services start five times as fast, and are watched for half a second."""
    profiles = lab.inventory / "profiles.yaml"
    text = profiles.read_text()
    assert "watch: 2s" in text
    profiles.write_text(text.replace("watch: 2s", 'watch: 0.5s\n    environment: {SGLANG_LAB_PACE: "0.2"}'))


@contextmanager
def fresh_lab(folder: Path) -> Iterator[Lab]:
    """The lab, up, its services in a hurry; skips plainly where this machine forbids it."""
    try:
        lab = api.up(folder, bound=True)
        hurry(lab)
    except LabUnavailable as error:
        pytest.skip(f"the lab cannot run here: {error.message}")
    try:
        yield lab
    finally:
        api.down(folder)
