"""A stand-in engine to each test, and nothing of it left behind."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_machine import Engine, Machine

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(scope="session", autouse=True)
def subreaper() -> Iterator[None]:
    """Orphans of an engine come to this process, as they come to PID 1 on a node, and are reaped here."""
    library = ctypes.CDLL(None)
    library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    library.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "node")
    yield machine
    for engine in machine.engines:
        engine.kill_all()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One service for all the tests of a file that leave it as it is."""
    machine = Machine(tmp_path_factory.mktemp("healthy") / "node")
    flags = ("--enable-hierarchical-cache", "--hicache-size", "48", "--mem-fraction-static", "0.88")
    engine = machine.start(*flags, "--enable-metrics")
    try:
        yield engine.ready()
    finally:
        engine.kill_all()
