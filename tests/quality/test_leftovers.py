"""`make` and the tests leave nothing outside the working tree and the temporary folder."""

import os
import subprocess
from pathlib import Path

import pytest

from fleetops.lab.wheel import cache_folder


def test_the_labs_of_the_tests_keep_the_engines_source_in_the_working_tree(root: Path) -> None:
    if os.environ["FLEETOPS_LAB_CACHE"] != str(root / ".demo"):
        pytest.skip("whoever runs the tests has named another place")
    assert cache_folder(os.environ).is_relative_to(root)


@pytest.mark.parametrize("variable", ["PIP_CACHE_DIR", "FLEETOPS_LAB_CACHE"])
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
