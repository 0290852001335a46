"""What several folders of tests share: one lab for the whole session, and the command line pointed at it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.privilege import LabUnavailable


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The embedded lab, brought up once; every test that changes a node brings it into the state it needs first."""
    # pytest's own temporary folders are closed to the unprivileged user that the lab runs as.
    parent = Path(tempfile.mkdtemp(prefix="fleetops-test-"))
    parent.chmod(0o711)
    try:
        running = api.up(parent / "lab")
    except LabUnavailable as error:
        pytest.skip(f"the lab cannot run here: {error.message}")
    yield running
    api.down(parent / "lab")
    shutil.rmtree(parent)


@pytest.fixture
def fleetops(lab: Lab, tmp_path: Path) -> CommandLine:
    """The real command line, in a process of its own, on the lab's inventory."""
    return CommandLine(lab.inventory, tmp_path)
