"""One deep lab for the session, and a clean node to each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deep_files import NODE
from deep_lab import DeepLab, deep_lab, why_not
from deep_node import DeepCommandLine, DeepNode
from left_out import leave_out

LIMIT_BYTES = 512 << 20


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long cells are run by `make deep-matrix` alone."""
    leave_out(config, items, "matrix")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With the long cells: what came of each, a line for a cell."""
    if "matrix" not in config.option.markexpr:
        return
    reports = [one for one in terminalreporter.stats.get("passed", []) if one.when == "call"]
    cells = [(one, told) for one in reports for name, told in one.user_properties if name == "deep cell"]
    if cells:
        terminalreporter.section("the deep lab's cells")
    for report, told in cells:
        terminalreporter.write_line(f"{report.head_line.removeprefix('test_').replace('_', ' ')}: {told}")


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say what came of the test's cell of the matrix."""
    return lambda told: record_property("deep cell", told)


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
