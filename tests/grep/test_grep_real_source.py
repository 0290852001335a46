"""On the engine's real source (the lab's own release, where it can be had): the same lines as the operator's grep."""

import os
import subprocess
from pathlib import Path

import pytest
from local_host import LocalSession

from fleetops.fleet.releases import release_folder
from fleetops.model.errors import FleetopsError
from fleetops.source.search import Search, parse_search, search_command
from fleetops.store.cache import cache_folder


@pytest.fixture(scope="module")
def package() -> Path:
    cache = cache_folder(os.environ)
    assert cache
    try:
        return release_folder("sglang", "0.5.9", cache, os.environ) / "sglang"
    except FleetopsError as error:
        pytest.skip(error.message)


@pytest.mark.parametrize(
    "pattern", [r"Allocating.*host memory\|hicache_size", "host_size", "é", r"^\(import\|from\) torch"]
)
def test_the_real_tree_gives_the_same_lines_as_grep_rn(package: Path, pattern: str) -> None:
    ran = subprocess.run(
        ["grep", "-rnI", "-e", pattern, "."],
        cwd=package,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        check=False,
    )
    expected = sorted(line.removeprefix("./") for line in ran.stdout.decode().split("\n") if line)
    command = search_command(Search(pattern=pattern, limit=100_000), str(package))
    answer = parse_search(LocalSession().run(command), str(package)).answer
    assert expected
    assert answer.total == len(expected)
    uncut = {f"{line.file}:{line.line}:{line.text}" for line in answer.lines if "…" not in line.text}
    assert uncut <= set(expected)
    assert len(uncut) > len(expected) * 0.9
