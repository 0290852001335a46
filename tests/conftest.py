"""What several folders of tests share: one lab for the whole session, and the command line pointed at it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command_line import CommandLine
from fresh_lab import fresh_lab
from in_order import labs_first
from left_out import leave_out

from fleetops.lab.api import Lab


def pytest_configure() -> None:
    """The engine's source that the labs show is kept in the working tree, not in the cache of whoever runs the tests.

    Interruptions and hang-ups count, also where the tests run in the background or under nohup, which have them ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.setdefault("FLEETOPS_CACHE", str(Path(__file__).resolve().parents[1] / ".demo"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes more than its share of every run is left to `make test-long`; the rest in an order that keeps all busy."""
    leave_out(config, items, "long")
    labs_first(items)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The embedded lab, brought up once; every test that changes a node brings it into the state it needs first.

    Its path is short, whoever runs the tests and beside how many others: screens show it.
    """
    with TemporaryDirectory(prefix="lab-") as folder, fresh_lab(Path(folder) / "lab") as running:
        yield running


@pytest.fixture
def fleetops(lab: Lab, tmp_path: Path) -> CommandLine:
    """The real command line, in a process of its own, on the lab's inventory."""
    return CommandLine(lab.inventory, tmp_path)
