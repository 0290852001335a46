"""The fixtures of the search's tests."""

from pathlib import Path

import pytest
from local_host import LocalSession, make_tree


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("node") / "sglang")


@pytest.fixture
def session(tmp_path: Path) -> LocalSession:
    return LocalSession(home=tmp_path)
