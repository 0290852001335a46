"""The engine's source comes from its wheel, fetched once; without it a tree of our own stands in, and it is said."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from fleetops.lab import wheel


def write_wheel(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sglang/version.py", "__version__ = '0.5.9'\n")


def test_a_kept_wheel_is_unpacked_and_nothing_is_fetched(tmp_path: Path, mocker: MockerFixture) -> None:
    run = mocker.patch.object(wheel.subprocess, "run")
    write_wheel(tmp_path / wheel.WHEEL)
    tree = wheel.provide_engine(tmp_path / "node", tmp_path)
    assert tree == wheel.EngineTree("0.5.9", real=True)
    assert (tmp_path / "node/sglang/version.py").exists()
    run.assert_not_called()


def test_the_wheel_is_fetched_once_and_kept(tmp_path: Path, mocker: MockerFixture) -> None:
    def pip(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = next(word.partition("=")[2] for word in argv if word.startswith("--dest="))
        write_wheel(Path(folder) / wheel.WHEEL)
        return subprocess.CompletedProcess(argv, 0, "", "")

    run = mocker.patch.object(wheel.subprocess, "run", side_effect=pip)
    assert wheel.fetch_wheel(tmp_path)[0] == wheel.fetch_wheel(tmp_path)[0] == tmp_path / wheel.WHEEL
    run.assert_called_once()
    assert {"--no-deps", "--no-cache-dir"} <= set(run.call_args.args[0])


def test_without_a_network_the_stand_in_tree_takes_its_place_with_the_reason(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no route\nERROR: No matching distribution\n")
    mocker.patch.object(wheel.subprocess, "run", return_value=failed)
    tree = wheel.provide_engine(tmp_path / "node", tmp_path / "cache")
    assert (tree.real, tree.note) == (False, "ERROR: No matching distribution")
    text = (tmp_path / "node/sglang/srt/mem_cache/memory_pool_host.py").read_text()
    assert "int(host_size * 1e9 // self.size_per_token)" in text
    assert (tmp_path / "node/sglang-0.5.9.dist-info/METADATA").read_text().count("Version: 0.5.9") == 1


def test_a_broken_download_is_not_kept(tmp_path: Path, mocker: MockerFixture) -> None:
    def pip(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = next(word.partition("=")[2] for word in argv if word.startswith("--dest="))
        (Path(folder) / wheel.WHEEL).write_bytes(b"PK half of it")
        return subprocess.CompletedProcess(argv, 0, "", "")

    mocker.patch.object(wheel.subprocess, "run", side_effect=pip)
    assert wheel.fetch_wheel(tmp_path)[0] is None
    assert not (tmp_path / wheel.WHEEL).exists()


def test_a_cache_that_cannot_be_written_is_a_reason_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found, reason = wheel.fetch_wheel(tmp_path / "file/cache")
    assert found is None
    assert "Not a directory" in reason


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"FLEETOPS_LAB_CACHE": "/c", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/fleetops"),
        ({"HOME": "/h"}, "/h/.cache/fleetops"),
    ],
)
def test_where_the_wheel_is_kept(environment: dict[str, str], folder: str) -> None:
    assert wheel.cache_folder(environment) == Path(folder)


def test_what_all_hosts_share_is_readable_for_everybody(tmp_path: Path) -> None:
    write_wheel(tmp_path / wheel.WHEEL)
    before = os.umask(0o077)
    try:
        tree = wheel.provide(tmp_path / "share", {"FLEETOPS_LAB_CACHE": str(tmp_path)})
    finally:
        assert os.umask(before) == 0o077
    assert wheel.read_tree(tmp_path / "share") == tree
    assert (tmp_path / "share/models/example/config.json").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "share/engine/sglang/sglang").stat().st_mode & 0o777 == 0o755
