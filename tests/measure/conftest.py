"""A stand-in engine on this machine, for what is measured and watched."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "node")
    yield machine
    for engine in machine.engines:
        engine.kill_all()


@pytest.fixture(scope="module")
def service_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of one healthy service, for all the tests of a file that leave it as it is."""
    machine = Machine(tmp_path_factory.mktemp("healthy") / "node")
    engine = machine.start("--enable-metrics", ranks=2, model=machine.folder / "models/small")
    try:
        yield engine.ready().port
    finally:
        engine.kill_all()
