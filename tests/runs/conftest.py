"""Recorded journals as runs of a state folder, and the command line on them."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded_runs import Runs


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Screens tell the time of the machine that they are shown on."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)
