"""A small engine package, whose flag has the real one's way from declaration to allocation; and desks to type at."""

from pathlib import Path

import pytest
from explain_scenes import write_engine


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that holds the package `sglang` and its metadata, as site-packages does."""
    folder = tmp_path / "site-packages"
    write_engine(folder)
    return folder


@pytest.fixture
def package(site: Path) -> Path:
    return site / "sglang"
