"""The engine's source is a fetched release; without it a tree of our own stands in, and it is said."""

import os
from pathlib import Path

from pytest_mock import MockerFixture

from fleetops.lab import wheel
from fleetops.model.errors import FleetopsError


def keep_release(cache: Path) -> dict[str, str]:
    """The environment in which SGLang's release lies in the cache already."""
    package = cache / f"releases/sglang-{wheel.VERSION}/sglang"
    package.mkdir(parents=True)
    (package / "version.py").write_text("__version__ = '0.5.9'\n")
    for folder in (package, package.parent):
        folder.chmod(0o755)
    (package / "version.py").chmod(0o644)
    return {"FLEETOPS_CACHE": str(cache)}


def test_a_kept_release_is_what_lies_on_the_nodes(tmp_path: Path) -> None:
    tree = wheel.provide_engine(tmp_path / "node", keep_release(tmp_path / "cache"))
    assert tree == wheel.EngineTree("0.5.9", real=True)
    assert (tmp_path / "node/sglang/version.py").exists()


def test_without_a_network_the_stand_in_tree_takes_its_place_with_the_reason(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    mocker.patch.object(
        wheel, "release_folder", side_effect=FleetopsError("the package index does not answer")
    )
    tree = wheel.provide_engine(tmp_path / "node", {"FLEETOPS_CACHE": str(tmp_path)})
    assert (tree.real, tree.note) == (False, "the package index does not answer")
    text = (tmp_path / "node/sglang/srt/mem_cache/memory_pool_host.py").read_text()
    assert "int(host_size * 1e9 // self.size_per_token)" in text
    assert (tmp_path / "node/sglang-0.5.9.dist-info/METADATA").read_text().count("Version: 0.5.9") == 1


def test_a_cache_that_cannot_be_written_is_a_reason_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tree = wheel.provide_engine(tmp_path / "node", {"FLEETOPS_CACHE": str(tmp_path / "file/cache")})
    assert not tree.real
    assert "Not a directory" in tree.note


def test_what_all_hosts_share_is_readable_for_everybody(tmp_path: Path) -> None:
    environ = keep_release(tmp_path / "cache")
    before = os.umask(0o077)
    try:
        tree = wheel.provide(tmp_path / "share", environ)
    finally:
        assert os.umask(before) == 0o077
    assert wheel.read_tree(tmp_path / "share") == tree
    assert (tmp_path / "share/models/example/config.json").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "share/engine/sglang/sglang").stat().st_mode & 0o777 == 0o755
