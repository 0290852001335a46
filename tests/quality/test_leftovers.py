"""`make` and the tests leave nothing outside the working tree and the temporary folder."""

import os
import subprocess
from pathlib import Path

import pytest
from command_line import clean_environment

from fleetops.store.cache import cache_folder


def test_the_labs_of_the_tests_keep_the_engines_source_in_the_working_tree(root: Path) -> None:
    if os.environ["FLEETOPS_CACHE"] != str(root / ".demo"):
        pytest.skip("whoever runs the tests has named another place")
    cache = cache_folder(os.environ)
    assert cache
    assert cache.is_relative_to(root)


@pytest.mark.parametrize("variable", ["PIP_CACHE_DIR", "FLEETOPS_CACHE"])
def test_make_keeps_its_caches_in_the_working_tree(root: Path, variable: str) -> None:
    told = subprocess.run(
        ["make", "--no-print-directory", "--eval", f"told: ; @echo $${variable}", "told"],
        cwd=root,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(told.stdout.strip()).is_relative_to(root)


def test_commands_that_the_tests_start_keep_their_proofs_there_as_well() -> None:
    assert clean_environment()["FLEETOPS_CACHE"] == os.environ["FLEETOPS_CACHE"]
