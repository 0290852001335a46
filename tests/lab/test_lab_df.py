"""The lab's df: disks are the lab's own size and fullness, what lies in memory is told as it is."""

import os
import subprocess
from pathlib import Path

import pytest

from fleetops.facts import disks
from fleetops.lab.tools.df import DISK_KB, SCRIPT, USED_KB
from fleetops.model.command import Outcome

FULL = """\
Filesystem     1024-blocks      Used Available Capacity Mounted on
/dev/sda1        102400000 101400000   1000000     100% /
tmpfs                 8192      8192         0     100% /var/log
"""


@pytest.fixture
def machine(tmp_path: Path):
    """Runs the lab's df before a machine's own that says so and ends with that status."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "lab/df").write_text(SCRIPT)
    (tmp_path / "lab/df").chmod(0o755)

    def run(says: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        (tmp_path / "own/df").write_text(f"#!/bin/sh\ncat <<'END'\n{says}END\nexit {status}\n")
        (tmp_path / "own/df").chmod(0o755)
        path = f"{tmp_path}/lab:{tmp_path}/own:{os.environ['PATH']}"
        argv = ["df", "-P", "-k", "--", "/"]
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            env={"PATH": path},
            executable=tmp_path / "lab/df",
        )

    return run


def test_a_full_disk_of_the_machines_is_not_the_labs_and_a_full_one_in_memory_is(machine) -> None:
    _, root, log = machine(FULL).stdout.splitlines()
    assert root.split()[1:4] == [str(DISK_KB), str(USED_KB), str(DISK_KB - USED_KB)]
    assert log.split()[-2:] == ["100%", "/var/log"]


def test_the_facts_parser_reads_it(machine) -> None:
    told = machine(FULL).stdout
    text = f"asked /\nasked /var/log\ndf k\n{told}status 0\ndf i\n{told}status 0\nend\n"
    root, log = disks.parse(Outcome(status=0, stdout=text)).mounted
    assert (root.mount, root.size_bytes) == ("/", DISK_KB * 1024)
    assert (log.mount, log.available_bytes) == ("/var/log", 0)


def test_how_the_machines_own_ended_is_how_this_one_ends(machine) -> None:
    assert machine(FULL, status=1).returncode == 1
