"""What is to be started: named after its inventory, found from anywhere, and understood by `fleetops sweep`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleetops.cli.program import build_parser
from fleetops.fleet.scheduling.made import Program, make_schedule, schedule_name
from fleetops.model.errors import UsageError

PROGRAM = Program(interpreter="/usr/bin/python3")


def made(inventory="/srv/fleet/inventory", program=PROGRAM, **more):
    given = {"every_s": 300.0, "deadline_s": 90.0, "state": Path("/state"), "cache": Path("/cache"), **more}
    return make_schedule(program, Path(inventory), environ={"HOME": "/home/ada"}, **given)


def swept(schedule):
    """Its command as `fleetops sweep` reads it."""
    at = schedule.argv.index("sweep")
    assert schedule.argv[at - 2 : at] == ("-m", "fleetops")
    return build_parser(only="sweep").parse_args(list(schedule.argv[at:]))


def test_the_sweep_understands_what_it_is_given():
    args = swept(made(hosts=("node-*", "!node-3", "@rack")))
    assert (args.inventory, args.json, args.deadline) == ("/srv/fleet/inventory", False, 90.0)
    assert args.hosts == ["node-*", "!node-3", "@rack"]
    assert args.every is None
    assert args.recover is None  # it observes
    assert swept(made()).hosts == ["*"]


def test_two_inventories_never_have_one_name_and_one_has_always_the_same(tmp_path):
    for folder in ("a/inventory", "b/inventory"):
        (tmp_path / folder).mkdir(parents=True)
    first, second = (schedule_name(tmp_path / one / "inventory") for one in "ab")
    assert first != second
    assert first.startswith("fleetops-sweep-inventory-")
    assert schedule_name(tmp_path / "b/../a/inventory") == first
    assert schedule_name(tmp_path / "a/inventory/fleet.yaml") == first
    (tmp_path / "link").symlink_to(tmp_path / "a/inventory")
    assert schedule_name(tmp_path / "link") == first
    assert schedule_name(tmp_path / "a/inventory/other.yaml").startswith("fleetops-sweep-other-")


@pytest.mark.parametrize(
    "folder", ["/srv/a b%n", "/srv/-", "/srv/é\n", "/", "/srv/" + "x" * 200, "/srv/\udcff"]
)
def test_a_name_is_plain_whatever_the_folder_is_called(folder):
    name = schedule_name(Path(folder))
    assert name.isascii()
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    assert len(name) < 80


def test_it_may_write_to_state_cache_and_the_textfiles_folder_and_has_them_in_its_environment(tmp_path):
    schedule = made(textfile=tmp_path / "fleetops.prom")
    assert schedule.writable == ("/state", "/cache", str(tmp_path))
    assert swept(schedule).textfile == str(tmp_path / "fleetops.prom")
    assert schedule.argv[-2:] == ("--textfile", str(tmp_path / "fleetops.prom"))
    assert schedule.environment == {
        "HOME": "/home/ada", "FLEETOPS_STATE": "/state", "FLEETOPS_CACHE": "/cache",
    }  # fmt: skip
    assert made(cache=None).writable == ("/state",)


def test_a_textfile_without_a_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        made(textfile=tmp_path / "nowhere/fleetops.prom")


def test_it_runs_from_anywhere_and_takes_no_module_from_there(tmp_path):
    (tmp_path / "fleetops.py").write_text("raise SystemExit('the wrong one')")
    root = str(Path(__file__).resolve().parents[2])
    schedule = made(program=Program(interpreter=sys.executable, package=root))
    at = schedule.argv.index("sweep")
    done = subprocess.run(
        [*schedule.argv[:at], "--version"],
        cwd=tmp_path,
        env={"PYTHONPATH": schedule.environment["PYTHONPATH"], "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("fleetops ")
