"""One deep lab for the session, and a clean node to each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deep_cells import Cell, table, title
from deep_files import NODE, SYSTEMD, VM
from deep_lab import DeepLab, deep_lab, why_not
from deep_node import DeepCommandLine, DeepNode
from left_out import leave_out

LIMIT_BYTES = 512 << 20
CELLS = pytest.StashKey[dict[str, str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long cells are run by `make deep-matrix` alone."""
    leave_out(config, items, "matrix")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What will be run of the matrix."""
    own = [item for item in session.items if item.path.is_relative_to(Path(__file__).parent)]
    cells = [item for item in own if "cell" in getattr(item, "fixturenames", ())]
    session.config.stash[CELLS] = {item.nodeid: title(item.name) for item in cells}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With the long cells: what came of each, those that failed or were skipped included."""
    if "matrix" not in config.option.markexpr or not config.stash.get(CELLS, {}):
        return
    kinds = terminalreporter.stats.values()
    reports = [one for kind in kinds for one in kind if isinstance(one, pytest.TestReport)]
    terminalreporter.section("the deep lab's matrix")
    for line in table(config.stash[CELLS], reports):
        terminalreporter.write_line(line)


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Cell:
    """Tells what came of the test's cell of the matrix."""
    return Cell(record_property)


@pytest.fixture(scope="session")
def deep() -> Iterator[DeepLab]:
    """The lab, up; skips plainly where this machine cannot have it."""
    if lacking := why_not():
        pytest.skip(lacking)
    with TemporaryDirectory(prefix="fleetops-deep-") as folder, deep_lab(Path(folder)) as lab:
        yield lab


@pytest.fixture
def node(deep: DeepLab, tmp_path: Path) -> DeepNode:
    """node-174, a container, with nothing on it, up, with a memory limit of 512 MiB."""
    deep.on_host("rm", "-rf", "/run/deep/held", "/run/deep/resets", "/run/fleetops")
    deep.fresh(NODE, LIMIT_BYTES)
    return DeepNode(deep, DeepCommandLine(deep.inventory, tmp_path))


@pytest.fixture
def booted(deep: DeepLab, tmp_path: Path) -> Iterator[DeepNode]:
    """node-176, the same, whose first process is systemd; stopped again afterwards, for its GPUs are node-174's."""
    for program in ("/lib/systemd/systemd", "/usr/bin/dbus-daemon"):
        if not Path(program).exists():
            pytest.skip(f"the deep lab's node with systemd needs {program} (Debian: systemd dbus)")
    deep.on_host("rm", "-rf", "/run/deep/held", "/run/deep/resets", "/run/fleetops")
    deep.on_host("pct", "stop", str(NODE), check=False)
    deep.fresh(SYSTEMD, LIMIT_BYTES)
    yield DeepNode(deep, DeepCommandLine(deep.inventory, tmp_path), SYSTEMD)
    deep.on_host("pct", "stop", str(SYSTEMD))


@pytest.fixture
def vm(deep: DeepLab, tmp_path: Path) -> Iterator[DeepNode]:
    """node-181, which stands for a VM, the same; off again afterwards."""
    own = f"/run/deep/{VM}"
    deep.on_host("rm", "-rf", f"{own}/held", f"{own}/resets", "/run/fleetops")
    deep.fresh(VM, LIMIT_BYTES)
    yield DeepNode(deep, DeepCommandLine(deep.inventory, tmp_path), VM)
    deep.on_host("lxc-unfreeze", "-n", str(VM), check=False)
    deep.on_host("qm", "stop", str(VM))
