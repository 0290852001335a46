"""Releases by pip: from an index in a folder, so without a network; only what can be read is kept."""

import os
import subprocess
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from explain_scenes import write_wheel
from pytest_mock import MockerFixture

from fleetops.fleet import releases
from fleetops.fleet.local_tree import open_tree
from fleetops.fleet.releases import parse_release, release_folder, unpack
from fleetops.model.errors import FleetopsError, UsageError


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(index: Path) -> Mapping[str, str]:
    """pip's own settings: no index but this folder."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(index.parent),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": os.devnull,
    }


def test_only_source_and_metadata_are_kept_and_readable_for_everybody(
    index: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    write_wheel(index)
    before = os.umask(0o077)
    try:
        folder = release_folder("sglang", "0.5.9", tmp_path / "cache", environ)
    finally:
        os.umask(before)
    assert folder == tmp_path / "cache/releases/sglang-0.5.9"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".py", ""}
    assert {path.name for path in files if not path.suffix} == {"METADATA", "WHEEL"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_dir()} == {0o755}
    tree = open_tree(folder)
    assert (tree.package, tree.version) == ("sglang", "0.5.9")
    assert tree.mentioning("hicache_size")
    left = [path.name for path in folder.parent.iterdir() if not path.name.endswith(".lock")]
    assert left == ["sglang-0.5.9"]


def test_a_kept_release_is_not_fetched_again(
    index: Path, environ: Mapping[str, str], tmp_path: Path, mocker: MockerFixture
) -> None:
    write_wheel(index)
    first = release_folder("sglang", "0.5.9", tmp_path / "cache", environ)
    run = mocker.patch.object(releases.subprocess, "run")
    assert release_folder("sglang", "0.5.9", tmp_path / "cache", environ) == first
    run.assert_not_called()


def test_a_wheel_of_another_platform_is_as_good(
    index: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    write_wheel(index, version="0.5.23", tags="cp312-cp312-manylinux_2_34_x86_64")
    folder = release_folder("sglang", "0.5.23", tmp_path / "cache", environ)
    assert open_tree(folder).version == "0.5.23"


def test_an_unknown_release_is_a_usage_error_that_names_near_ones(
    index: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    for version in ("0.5.8", "0.5.9", "0.5.23"):
        write_wheel(index, version=version)
    with pytest.raises(UsageError, match=r"there is no release 0\.5\.99 of sglang") as refused:
        release_folder("sglang", "0.5.99", tmp_path / "cache", environ)
    assert "0.5.9" in refused.value.hint
    assert "0.5.23" in refused.value.hint
    assert not [path for path in (tmp_path / "cache/releases").iterdir() if path.is_dir()]


def failing(said: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 1, "", said)


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/sglang/\nERROR: No match",
            "the package index could not be asked for sglang 0.5.9: NewConnectionError",
            "--source DIR",
        ),
        ("/usr/bin/python3: No module named pip", "needs pip", "ensurepip"),
        (
            "ERROR: Could not find a version that satisfies the requirement sglang==0.5.9 (from versions: none)",
            "there is no wheel of sglang 0.5.9",
            "--source DIR",
        ),
        (
            "ERROR: Wheel is invalid\n[notice] A new release of pip is available",
            "Wheel is invalid",
            "--source DIR",
        ),
        ("", "it said nothing", "--source DIR"),
    ],
    ids=["no network", "no pip", "source archives only", "something else", "nothing"],
)
def test_what_goes_wrong_is_told_with_what_to_do(
    tmp_path: Path, mocker: MockerFixture, said: str, message: str, hint: str
) -> None:
    mocker.patch.object(releases.subprocess, "run", return_value=failing(said))
    with pytest.raises(FleetopsError) as failed:
        release_folder("sglang", "0.5.9", tmp_path, {})
    assert message in failed.value.message
    assert hint in failed.value.hint
    assert not (tmp_path / "releases/sglang-0.5.9").exists()


def test_pip_that_does_not_come_to_an_end(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(releases.subprocess, "run", side_effect=subprocess.TimeoutExpired("pip", 900))
    with pytest.raises(FleetopsError, match="within 15 minutes"):
        release_folder("sglang", "0.5.9", tmp_path, {})


def test_without_a_pip_of_its_own_the_one_on_path_is_taken(tmp_path: Path, mocker: MockerFixture) -> None:
    (tmp_path / "pip3").write_text("#!/bin/sh\n")
    (tmp_path / "pip3").chmod(0o755)
    mocker.patch.object(releases, "find_spec", return_value=None)
    assert releases._pip_itself({"PATH": str(tmp_path)}) == (str(tmp_path / "pip3"),)


def test_two_at_once_fetch_it_once(
    index: Path, environ: Mapping[str, str], tmp_path: Path, mocker: MockerFixture
) -> None:
    write_wheel(index)
    run = mocker.spy(releases.subprocess, "run")
    found: list[Path] = []

    def fetch() -> None:
        found.append(release_folder("sglang", "0.5.9", tmp_path / "cache", environ))

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tmp_path / "cache/releases/sglang-0.5.9"] * 2
    assert run.call_count == 1


def test_what_an_interrupted_fetch_left_is_cleared_away(
    index: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    write_wheel(index)
    part = tmp_path / "cache/releases/.sglang-0.5.9.part/tree/sglang"
    part.mkdir(parents=True)
    (part / "half.py").touch()
    folder = release_folder("sglang", "0.5.9", tmp_path / "cache", environ)
    assert not (folder / "sglang/half.py").exists()
    assert not part.exists()


def test_an_interrupt_leaves_nothing_half_done(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(releases.subprocess, "run", side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        release_folder("sglang", "0.5.9", tmp_path, {})
    assert [path.name for path in (tmp_path / "releases").iterdir()] == [".sglang-0.5.9.lock"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FleetopsError, match="Not a directory") as failed:
        release_folder("sglang", "0.5.9", tmp_path / "file", {})
    assert "FLEETOPS_CACHE" in failed.value.hint


@pytest.mark.parametrize(
    "filename", ["../evil.py", "/etc/evil.py", "sglang/../../evil.py", "sglang\\..\\evil.py"]
)
def test_a_wheel_that_reaches_outside_is_refused(tmp_path: Path, filename: str) -> None:
    wheel = write_wheel(tmp_path, extra={filename: "x = 1\n"})
    with pytest.raises(FleetopsError, match="outside of itself"):
        unpack(wheel, tmp_path / "cache/tree", "sglang")
    assert not list(tmp_path.rglob("evil.py"))
    assert not (tmp_path / "cache/tree").exists()


def test_a_wheel_that_would_fill_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "_UNPACKED_BYTES", 100)
    with pytest.raises(FleetopsError, match="holds more than"):
        unpack(write_wheel(tmp_path), tmp_path / "tree", "sglang")


def test_no_wheel_at_all_and_the_wrong_one(tmp_path: Path) -> None:
    (tmp_path / "sglang-0.5.9-py3-none-any.whl").write_bytes(b"PK half of it")
    with pytest.raises(FleetopsError, match="no whole wheel"):
        unpack(tmp_path / "sglang-0.5.9-py3-none-any.whl", tmp_path / "tree", "sglang")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(FleetopsError, match="holds no package sglang"):
        unpack(tmp_path / "other.whl", tmp_path / "tree", "sglang")


def test_a_package_in_the_data_folder_of_its_wheel(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, extra={"sglang-0.5.9.data/purelib/sglang/more.py": "x = 1\n"})
    unpack(wheel, tmp_path / "tree", "sglang")
    assert (tmp_path / "tree/sglang/more.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    "text", ["sglang", "sglang=0.5.9", "sglang==", "==0.5.9", "sglang==../x", "a b==1", "sglang==-1"]
)
def test_what_is_no_release(text: str) -> None:
    with pytest.raises(UsageError, match="is no release"):
        parse_release(text)


def test_a_release_is_of_a_known_package() -> None:
    assert parse_release("SGLang==0.5.5.post3") == ("sglang", "0.5.5.post3")
    with pytest.raises(UsageError, match="torch"):
        parse_release("torch==2.0")
