"""What cannot be read of a folder is said, and nothing is proven beside it."""

from pathlib import Path

import pytest

from fleetops.fleet.local_tree import LocalTree


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "sglang"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    return folder


def test_a_link_that_leads_nowhere_is_a_gap(package: Path) -> None:
    (package / "cache.py").symlink_to("/nonexistent/cache.py")
    tree = LocalTree(package, "sglang")
    assert tree.digest
    assert tree.gaps == ("cache.py leads nowhere",)


def test_a_file_that_is_no_text_is_a_gap(package: Path) -> None:
    (package / "cache.py").write_bytes(b"\xff\xfe\x00")
    tree = LocalTree(package, "sglang")
    assert tree.digest
    assert tree.gaps == ("cache.py is no Python source (it holds a NUL byte)",)


def test_a_whole_package_has_none(package: Path) -> None:
    tree = LocalTree(package, "sglang")
    assert tree.digest
    assert tree.gaps == ()
