"""What the tests of this folder share: the package's files, read but not imported."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top level."""
    return ROOT
