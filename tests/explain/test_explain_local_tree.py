"""The package in a folder of this machine: found wherever it lies in it, read whatever it holds."""

import errno
import hashlib
import os
from pathlib import Path

import pytest
from explain_scenes import write_engine
from hypothesis import given
from hypothesis import strategies as st

from fleetops.fleet import local_tree
from fleetops.fleet.local_tree import LocalTree, open_tree
from fleetops.model.errors import UsageError
from fleetops.source.text import mentions, words


def test_the_package_its_parent_and_a_checkout_are_the_same_tree(site: Path, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout/python").symlink_to(site)
    found = [open_tree(folder) for folder in (site / "sglang", site, tmp_path / "checkout")]
    assert [tree.package for tree in found] == ["sglang"] * 3
    assert len({tree.digest for tree in found}) == 1
    assert [tree.version for tree in found] == ["0.5.9"] * 3


def test_a_link_to_the_package_may_have_another_name(site: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(site / "sglang")
    assert open_tree(tmp_path / "here").package == "sglang"


def test_a_checkout_that_is_named_like_its_package_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "vllm/vllm").mkdir(parents=True)
    (tmp_path / "vllm/vllm/__init__.py").touch()
    assert open_tree(tmp_path / "vllm").folder == tmp_path / "vllm/vllm"


def test_several_packages_are_named_and_one_can_be_chosen(site: Path) -> None:
    (site / "lmcache").mkdir()
    (site / "lmcache/__init__.py").touch()
    with pytest.raises(UsageError, match=r"holds several packages: lmcache, sglang") as refused:
        open_tree(site)
    assert "--engine" in refused.value.hint
    assert open_tree(site, "lmcache").package == "lmcache"
    assert open_tree(site / "sglang").package == "sglang"


@pytest.mark.parametrize("engine", [None, "vllm"])
def test_nothing_found_says_what_was_looked_for(tmp_path: Path, engine: str | None) -> None:
    with pytest.raises(UsageError, match=str(tmp_path)) as refused:
        open_tree(tmp_path, engine)
    assert "vllm" in refused.value.message
    assert ("sglang" in refused.value.message) is (engine is None)


def test_a_package_under_another_name_is_told_what_it_should_be_called(site: Path) -> None:
    (site / "sglang").rename(site / "sglang-patched")
    with pytest.raises(UsageError, match="not named sglang"):
        open_tree(site / "sglang-patched", "sglang")


def test_no_folder_at_all(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(UsageError, match="there is no folder"):
            open_tree(path)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"../sglang-0.5.9.dist-info/METADATA": "Name: sglang\nVersion: 0.5.9\n"}, "0.5.9"),
        ({"version.py": '__version__ = "0.5.8"\n'}, "0.5.8"),
        (
            {
                "_version.py": "__version__: str = version = '0.5.7'\n",
                "version.py": "from ._version import *\n",
            },
            "0.5.7",
        ),
        ({"__init__.py": '"""SGLang."""\n__version__ = "0.5.6"\n'}, "0.5.6"),
        ({}, ""),
        (
            {
                "../sglang-0.5.1.dist-info/METADATA": "Version: 0.5.1\n",
                "../sglang-0.5.2.dist-info/METADATA": "Version: 0.5.2\n",
                "version.py": '__version__ = "0.5.2.dev1"\n',
            },
            "0.5.2.dev1",
        ),
    ],
)
def test_the_version(tmp_path: Path, files: dict[str, str], version: str) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in files.items():
        place = package / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    assert open_tree(package).version == version


def test_the_digest_is_over_paths_and_hashes_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    (package / "a").mkdir(parents=True)
    contents = {"a.py": b"1", "a/b.py": b"2", "__init__.py": b"", "ü.py": b"3", "a-b.py": b"4"}
    for name, data in contents.items():
        (package / name).write_bytes(data)
    (package / "notes.txt").write_text("not Python")
    lines = sorted((name.encode(), hashlib.sha256(data).hexdigest()) for name, data in contents.items())
    expected = hashlib.sha256(
        b"".join(name + b"\0" + one.encode() + b"\n" for name, one in lines)
    ).hexdigest()
    assert LocalTree(package, "sglang").digest == expected


def test_one_changed_byte_is_another_digest(package: Path) -> None:
    before = LocalTree(package, "sglang").digest
    with (package / "srt/server_args.py").open("a") as file:
        file.write("#")
    assert LocalTree(package, "sglang").digest != before


def test_names_are_found_as_whole_words_only(tmp_path: Path) -> None:
    texts = {
        "a.py": "x = hicache_size",
        "b.py": "hicache_sizes",
        "c.py": "my_hicache_size",
        "d.py": '"--hicache-size", ServerArgs.hicache_size)',
        "e.py": "éhicache_size",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert LocalTree(tmp_path, "sglang").mentioning("hicache_size") == ("a.py", "d.py", "e.py")


def test_odd_files_do_no_harm(tmp_path: Path) -> None:
    tree = tmp_path / "sglang"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/loop").symlink_to("..")
    (tree / "self.py").symlink_to("self.py")
    (tree / "broken.py").symlink_to("nowhere.py")
    os.mkfifo(tree / "pipe.py")
    (tree / "folder.py").mkdir()
    names = ["back\\slash.py", "line\nbreak.py", "-e.py", "a b'c\".py", "*.py", os.fsdecode(b"\xff.py")]
    for name in names:
        (tree / name).write_text("hicache_size = 0")
    found = LocalTree(tree, "sglang")
    assert sorted(found.mentioning("hicache_size")) == sorted(names)
    assert found.gaps == ("broken.py leads nowhere",)
    assert found.text("line\nbreak.py") == "hicache_size = 0"


def test_a_linked_folder_is_part_of_the_tree_as_it_is_for_python(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/pool.py").write_text("host_size")
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang/srt").symlink_to("../elsewhere")
    assert LocalTree(tmp_path / "sglang", "sglang").mentioning("host_size") == ("srt/pool.py",)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# -*- coding: latin-1 -*-\ns = 'ü'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\ns = 'ü'\n"),
        (
            b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# \x80\n",
            "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# €\n",
        ),
        (b"# coding: no-such\n# \xff\n", "# coding: no-such\n# \udcff\n"),
        (b"x = 1\n\n# coding: latin-1\n# \xff", "x = 1\n\n# coding: latin-1\n# \udcff"),
        ("ü = 1".encode(), "ü = 1"),
    ],
)
def test_text_is_decoded_as_python_would(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.py").write_bytes(data)
    assert LocalTree(tmp_path, "sglang").text("a.py") == text


def test_a_file_that_cannot_be_read_is_a_gap(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, flags: int) -> int:
        if path.endswith("server_args.py"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return os.open(path, flags)

    monkeypatch.setattr(local_tree, "_without_waiting", refuse)
    tree = LocalTree(package, "sglang")
    assert tree.gaps == ("srt/server_args.py: Permission denied",)
    assert "srt/server_args.py" not in tree.mentioning("hicache_size")


def test_a_giant_is_hashed_and_is_a_gap_where_it_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_tree, "GIANT_BYTES", 10)
    (tmp_path / "a.py").write_text("hicache_size = 1")
    tree = LocalTree(tmp_path, "sglang")
    assert tree.sha256("a.py") == hashlib.sha256(b"hicache_size = 1").hexdigest()
    assert (tree.mentioning("host_size"), tree.gaps) == ((), ())
    assert tree.mentioning("hicache_size") == ()
    assert tree.gaps == ("a.py mentions hicache_size and is too large to be read",)


def test_what_is_not_there_is_a_key_error(package: Path) -> None:
    tree = LocalTree(package, "sglang")
    for look in (tree.text, tree.sha256):
        with pytest.raises(KeyError):
            look("nowhere.py")


def test_the_scene_is_the_package(tmp_path: Path) -> None:
    write_engine(tmp_path)
    assert "srt/server_args.py" in open_tree(tmp_path).mentioning("hicache_size")


@given(st.binary(max_size=60), st.sampled_from(["a", "ab", "_a1", "hicache_size"]))
def test_the_index_finds_what_a_search_finds(data: bytes, name: str) -> None:
    text = data.replace(b"\x01", name.encode())
    assert (name.encode() in words(text)) is mentions(text, name)


@pytest.mark.parametrize("searches", [0, 3])
def test_other_programs_inside_a_package_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searches: int
) -> None:
    monkeypatch.setattr(local_tree, "_SEARCHES", searches)
    for file in ("srt/pool.py", "srt/test_pool.py", "multimodal_gen/pool.py", "srt/latest/pool.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("host_size = 0")
    tree = LocalTree(tmp_path, "sglang")
    assert tree.mentioning("host_size") == ("srt/latest/pool.py", "srt/pool.py")
    assert tree.sha256("multimodal_gen/pool.py")


def test_many_names_are_found_by_the_index(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("hicache_size", "host_size", "size", "nowhere_at_all")
    by_search = LocalTree(package, "sglang")
    expected = [by_search.mentioning(name) for name in names]
    monkeypatch.setattr(local_tree, "_SEARCHES", 0)
    by_index = LocalTree(package, "sglang")
    assert [by_index.mentioning(name) for name in names] == expected
