"""One deep lab for the session, and a clean node to each test."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deep_files import NODE
from deep_lab import DeepLab, deep_lab, why_not
from deep_node import DeepCommandLine, DeepNode

LIMIT_BYTES = 512 << 20


@pytest.fixture(scope="session")
def deep() -> Iterator[DeepLab]:
    """The lab, up; skips plainly where this machine cannot have it."""
    if lacking := why_not():
        pytest.skip(lacking)
    with TemporaryDirectory(prefix="fleetops-deep-") as folder, deep_lab(Path(folder)) as lab:
        yield lab


@pytest.fixture
def node(deep: DeepLab, tmp_path: Path) -> DeepNode:
    """node-174 with nothing on it, up, with a memory limit of 512 MiB."""
    deep.on_host("rm", "-rf", "/run/deep/held", "/run/deep/resets", "/run/fleetops")
    deep.fresh(NODE, LIMIT_BYTES)
    return DeepNode(deep, DeepCommandLine(deep.inventory, tmp_path))
