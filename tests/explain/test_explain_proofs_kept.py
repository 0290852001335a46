"""Proofs that were made before: whole, this user's own and for exactly this source, or they do not count."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from explain_scenes import proven

from fleetops.store import proofs as module
from fleetops.store.cache import cache_folder
from fleetops.store.proofs import Proofs
from fleetops.store.whole import write_whole

TREE = "cd" * 32


def entries(folder: Path) -> list[Path]:
    return [path for path in (folder / "proofs").iterdir() if path.is_file()]


def test_what_was_put_is_got_again_and_nothing_else(tmp_path: Path) -> None:
    kept = Proofs(tmp_path)
    kept.put(proven(notes=("a", "b"), default=1.5))
    assert kept.get("sglang", "hicache_size", TREE) == proven(notes=("a", "b"), default=1.5)
    assert kept.get("sglang", "hicache_ratio", TREE) is None
    assert kept.get("vllm", "hicache_size", TREE) is None
    assert kept.get("sglang", "hicache_size", "ef" * 32) is None


def test_it_is_private(tmp_path: Path) -> None:
    Proofs(tmp_path / "new/cache").put(proven())
    (entry,) = entries(tmp_path / "new/cache")
    assert entry.stat().st_mode & 0o777 == 0o600
    assert entry.parent.stat().st_mode & 0o777 == 0o700


def test_another_tracer_does_not_answer_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Proofs(tmp_path).put(proven())
    monkeypatch.setattr(module, "tracer_digest", lambda: "another")
    assert Proofs(tmp_path).get("sglang", "hicache_size", TREE) is None


def test_the_tracers_digest_is_over_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source/tracing").mkdir(parents=True)
    for name in ("source/tracing/reach.py", "model/proof.py", "store/proofs.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    digest = module.tracer_digest.__wrapped__
    before = digest()
    (tmp_path / "source/tracing/reach.py").write_text("2")
    assert digest() != before


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(path.read_bytes().replace(b'"proven"', b'"provem"')),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.chmod(0o666),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["empty", "cut", "changed", "binary", "writable for others", "a folder"],
)
def test_what_is_spoilt_does_not_count(tmp_path: Path, spoil: object) -> None:
    kept = Proofs(tmp_path)
    kept.put(proven())
    (entry,) = entries(tmp_path)
    spoil(entry)  # type: ignore[operator]
    assert kept.get("sglang", "hicache_size", TREE) is None


def test_a_corrupt_one_is_written_anew(tmp_path: Path) -> None:
    kept = Proofs(tmp_path)
    kept.put(proven())
    (entry,) = entries(tmp_path)
    entry.write_bytes(b"{")
    kept.put(proven())
    assert kept.get("sglang", "hicache_size", TREE) == proven()
    assert entries(tmp_path) == [entry]


def test_somebody_elses_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Proofs(tmp_path)
    kept.put(proven())
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert kept.get("sglang", "hicache_size", TREE) is None


def test_one_that_lies_under_anothers_name_does_not_count(tmp_path: Path) -> None:
    kept = Proofs(tmp_path)
    kept.put(proven())
    (right,) = entries(tmp_path)
    data = right.read_bytes()
    kept.put(proven(flag="hicache_ratio"))
    (other,) = (path for path in entries(tmp_path) if path != right)
    other.write_bytes(data)
    assert kept.get("sglang", "hicache_ratio", TREE) is None


@pytest.mark.parametrize("folder", [None, Path("/dev/null/cache"), Path("/proc/nowhere")])
def test_a_cache_that_cannot_be_written_is_no_error(folder: Path | None) -> None:
    kept = Proofs(folder)
    kept.put(proven())
    assert kept.get("sglang", "hicache_size", TREE) is None


def test_a_proof_of_no_tree_in_particular_is_not_kept(tmp_path: Path) -> None:
    Proofs(tmp_path).put(replace(proven(), tree_sha256=""))
    assert not (tmp_path / "proofs").exists()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "place", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"FLEETOPS_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/fleetops"),
        ({"HOME": "/h"}, "/h/.cache/fleetops"),
    ],
)
def test_where_it_is(environ: dict[str, str], folder: str) -> None:
    assert cache_folder(environ) == Path(folder)
