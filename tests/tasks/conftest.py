"""fab itself as a user calls it: in a folder with a fabfile of three lines."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.breakages.base import BrokenNode

Ran = subprocess.CompletedProcess[str]
Call = Callable[..., Ran]

FABFILE = "from fleetops.tasks import collection\n\nnamespace = collection\n"


@pytest.fixture
def fab_lab(lab: Lab) -> Path:
    """The inventory of the lab, with nothing wrong on node-174, whatever an earlier test left there."""
    BrokenNode(lab.folder, "node-174").clear()
    return lab.inventory


@pytest.fixture
def fab(tmp_path: Path) -> Call:
    """`fab WORDS`, nobody at the terminal."""
    (tmp_path / "fabfile.py").write_text(FABFILE)
    return lambda *words, **environ: _run("fabric", tmp_path, words, environ)


@pytest.fixture
def cli(tmp_path: Path) -> Call:
    """`fleetops WORDS`, likewise."""
    return lambda *words, **environ: _run("fleetops", tmp_path, words, environ)


def _run(module: str, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> Ran:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLEETOPS_")}
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env={**kept, "HOME": str(folder), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def broken(fab_lab: Path) -> Callable[[str], None]:
    """Break node-174 of the lab in one of its ways."""
    return lambda kind: api.break_node(fab_lab.parent, "node-174", kind)
