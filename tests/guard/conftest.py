"""A guard to each test, and nothing of it left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from guarded import Watched


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path)
    yield watched
    watched.end()
