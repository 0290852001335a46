"""`fleetops lab` on the command line."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.lab.api import Lab
from fleetops.lab.breakages import all_breakages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Shell:
    """The real command line, in a process of its own, with a lab folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fleetops.cli", *words],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"FLEETOPS_LAB": str(self.folder)},
            timeout=120,
        )


@pytest.fixture
def own() -> Iterator[Shell]:
    parent = Path(tempfile.mkdtemp(prefix="fleetops-test-"))
    shell = Shell(parent / "lab")
    yield shell
    shell("lab", "down")
    shutil.rmtree(parent)


@pytest.fixture
def shared(lab: Lab) -> Shell:
    return Shell(lab.folder)


def test_up_prints_what_a_shell_can_evaluate_and_down_removes_it(own: Shell) -> None:
    up = own("lab", "up")
    assert up.returncode == 0, up
    assert up.stdout == f"export FLEETOPS_INVENTORY={own.folder}/inventory\n"
    assert own("run", "--lab", "node-174", "--", "hostname").returncode == 0
    down = own("lab", "down")
    assert (down.returncode, own.folder.exists()) == (0, False)
    assert own("lab", "down").returncode == 0
    gone = own("probe", "--lab", "node-174")
    assert gone.returncode == 2
    assert "fleetops lab up" in gone.stderr


def test_status_tells_each_host(shared: Shell, lab: Lab) -> None:
    told = json.loads(shared("lab", "status", "--json").stdout)
    assert {host["name"]: host["port"] for host in told["hosts"]} == lab.ports
    assert all(host["running"] for host in told["hosts"])
    text = shared("lab", "status").stdout
    assert "node-174" in text
    assert "hypervisor" in text


def test_the_kinds_of_breakage_are_listed(shared: Shell) -> None:
    told = shared("lab", "break", "--list").stdout
    (line,) = (line for line in told.splitlines() if line.startswith("guest-locked"))
    assert re.search(r"^guest-locked +lxc vm +a running backup", line)


def test_on_a_terminal_the_list_of_breakages_is_indented_where_it_goes_on() -> None:
    out = Terminal()
    world = World(stdout=out, stderr=io.StringIO(), environ={"COLUMNS": "80", "TERM": "dumb"})
    assert run(["lab", "break", "--list"], world) == 0
    head, *lines = out.getvalue().splitlines()
    kinds = [line for line in lines if not line.startswith(" ")]
    assert [line.split()[0] for line in kinds] == [one.name for one in all_breakages()]
    column = head.index("what it is")
    assert all(line[:column].isspace() for line in lines if line not in kinds)
    assert max(map(len, lines)) <= 80


def test_a_kind_of_breakage_is_explained(shared: Shell) -> None:
    told = shared("lab", "break", "--list", "orphans").stdout
    assert told.startswith("orphans (lxc, vm, bare): ")
    assert "under PID 1" in told
    listed = json.loads(shared("lab", "break", "--list", "orphans", "--json").stdout)["breakages"]
    assert [(one["kind"], one["platforms"]) for one in listed] == [("orphans", ["lxc", "vm", "bare"])]
    assert listed[0]["explanation"]
    assert "did you mean orphans?" in shared("lab", "break", "--list", "orphan").stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lab", "break", "node-999", "zombies"), "no node node-999"),
        (("lab", "break", "node-174", "zombis"), "zombies"),
        (("lab", "break", "pve-01", "zombies"), "no node pve-01"),
        (("lab", "break"), "node and a kind"),
        (("lab", "break", "node-190", "guest-locked"), "cannot happen to node-190, which is bare metal"),
        (("lab", "up", "node-174"), "takes no arguments"),
        (("lab", "sideways"), "sideways"),
    ],
)
def test_misuse_is_told_and_changes_nothing(shared: Shell, words: tuple[str, ...], says: str) -> None:
    done = shared(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


UNUSABLE = f"/tmp/{'x' * 300}"  # no file can have such a name, so nobody can even look


@pytest.mark.parametrize(
    ("action", "place"),
    [
        ("up", "/proc/lab"),
        ("up", "/dev/null/lab"),
        *((action, UNUSABLE) for action in ("up", "status", "down")),
    ],
)
def test_a_folder_that_cannot_be_used_is_told_with_the_mend(action: str, place: str) -> None:
    done = Shell(Path(place))("lab", action)
    assert done.returncode == 2
    assert f"the lab cannot use the folder {place}: " in done.stderr
    assert "set FLEETOPS_LAB" in done.stderr


def test_an_inventory_of_a_lab_that_cannot_be_looked_at_is_told() -> None:
    done = Shell(Path(UNUSABLE))("probe", "--lab", "node-174")
    assert done.returncode == 2
    assert "/inventory: File name too long" in done.stderr


def test_without_a_lab_each_action_says_how_to_get_one(own: Shell) -> None:
    for words in (("lab", "status"), ("lab", "break", "node-174", "zombies")):
        done = own(*words)
        assert done.returncode == 2
        assert "fleetops lab up" in done.stderr
