"""The four tasks through the real fab, on the lab: their subcommands' own output, questions and exit codes."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fleetops

pytestmark = pytest.mark.lab
Call = Callable[..., subprocess.CompletedProcess[str]]
PATTERN = r"Allocating.*host memory\|hicache_size"


def test_a_fabfile_of_three_lines_has_all_four(fab: Call) -> None:
    listed = json.loads(fab("--list", "--list-format", "json").stdout)
    assert sorted(task["name"] for task in listed["tasks"]) == ["grep-source", "kill", "probe", "reset-gpus"]


def test_no_fabfile_is_needed(fab: Call) -> None:
    ran = fab("--search-root", str(Path(fleetops.__file__).parent), "--collection", "tasks", "--list")
    assert "grep-source" in ran.stdout


@pytest.mark.parametrize("task", ["grep-source", "probe", "kill", "reset-gpus"])
def test_every_option_of_a_task_is_explained(fab: Call, task: str) -> None:
    lines = fab("--help", task).stdout.partition("Options:\n")[2].splitlines()
    bare = [line for line in lines if line.strip().startswith("--") and len(line.split()) == 1]
    assert not bare


def test_grep_source_says_what_the_command_says(fab: Call, cli: Call, fab_lab: Path) -> None:
    task = fab("grep-source", PATTERN, "--limit", "3", FLEETOPS_INVENTORY=str(fab_lab))
    command = cli("grep-source", PATTERN, "--limit", "3", FLEETOPS_INVENTORY=str(fab_lab))
    assert "SGLang" in task.stdout
    assert "hicache_size" in task.stdout
    assert (task.stdout, task.returncode) == (command.stdout, command.returncode)


def test_grep_source_takes_every_option(fab: Call, fab_lab: Path) -> None:
    options = ("--extended", "--ignore-case", "--context", "1", "--limit", "1")
    globs = ("--include", "*.py", "--exclude", "x*", "--exclude-dir", "y")
    hosts = ("--hosts", "node-174", "--hosts", "node-175,!node-175")
    ran = fab(
        "grep-source",
        "HICACHE_(SIZE|RATIO)",
        *options,
        *globs,
        *hosts,
        "--json",
        FLEETOPS_INVENTORY=str(fab_lab),
    )
    body = json.loads(ran.stdout)
    (answer,) = body["answers"]
    assert answer["hosts"] == ["node-174"]
    assert len([line for line in answer["lines"] if "context" not in line]) == 1
    assert answer["total"] > 1


def test_grep_source_asks_the_host_that_fab_names(fab: Call, fab_lab: Path) -> None:
    ran = fab("-H", "node-181", "grep-source", "hicache_size", "--json", "--inventory", str(fab_lab))
    assert [answer["hosts"] for answer in json.loads(ran.stdout)["answers"]] == [["node-181"]]


def test_a_pattern_with_leading_dashes_is_a_pattern(fab: Call, fab_lab: Path) -> None:
    ran = fab("grep-source", "--pattern=--hicache-size", "--inventory", str(fab_lab))
    assert "--hicache-size" in ran.stdout


def test_nothing_found_is_exit_1_and_a_bad_pattern_is_exit_2(fab: Call, fab_lab: Path) -> None:
    assert fab("grep-source", "no such thing", FLEETOPS_INVENTORY=str(fab_lab)).returncode == 1
    refused = fab("grep-source", "[a", FLEETOPS_INVENTORY=str(fab_lab))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: node-174: grep refuses the pattern: ")


def test_probe_says_what_the_command_says(fab: Call, cli: Call, fab_lab: Path) -> None:
    words = ("--hosts", "node-174", "--json")
    task = fab("probe", *words, FLEETOPS_INVENTORY=str(fab_lab))
    command = cli("probe", "node-174", "--json", FLEETOPS_INVENTORY=str(fab_lab))
    told, expected = json.loads(task.stdout), json.loads(command.stdout)
    assert told["schema"] == "fleetops.probe/1"
    assert [host["host"] for host in told["hosts"]] == ["node-174"]
    assert told["findings"] == expected["findings"]
    assert task.returncode == command.returncode


@pytest.mark.parametrize("task", ["kill", "reset-gpus"])
def test_what_changes_something_refuses_where_nobody_can_be_asked(
    fab: Call, fab_lab: Path, task: str
) -> None:
    ran = fab(task, "node-174", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 5
    assert "there is no terminal to ask on" in ran.stderr
    assert ran.stdout.startswith(f"plan   {task} node-174")


@pytest.mark.parametrize("task", ["kill", "reset-gpus"])
@pytest.mark.parametrize("words", [("--dry-run",), ("--dry-run", "--yes")])
def test_a_dry_run_shows_the_exact_commands_and_runs_none(
    fab: Call, fab_lab: Path, task: str, words: tuple[str, ...]
) -> None:
    ran = fab(task, "node-174", *words, FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 0, ran.stderr
    assert "node-174$ " in ran.stdout
    assert "journal in" not in ran.stdout


@pytest.mark.parametrize("task", ["kill", "reset-gpus"])
def test_fabs_own_dry_run_is_one_too(fab: Call, fab_lab: Path, task: str) -> None:
    ran = fab("--dry", task, "node-174", "--yes", "--json", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 0, ran.stderr
    body = json.loads(ran.stdout)
    assert (body["schema"], body["status"]) == (f"fleetops.{task}/1", "planned")


@pytest.mark.parametrize("task", ["kill", "reset-gpus"])
def test_on_a_clean_node_there_is_nothing_to_change(fab: Call, fab_lab: Path, task: str) -> None:
    ran = fab(task, "node-174", "--yes", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 0, ran.stderr
    assert "skipped" in ran.stdout


def test_an_unknown_node_is_a_usage_error(fab: Call, fab_lab: Path) -> None:
    ran = fab("kill", "node-999", "--yes", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: ")
    assert "Traceback" not in ran.stderr


def test_kill_ends_a_wedged_service(fab: Call, fab_lab: Path, broken: Callable[[str], None]) -> None:
    broken("ghost-leader")
    ran = fab("kill", "node-174", "--yes", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (host,) = json.loads(fab("probe", "--hosts", "node-174", "--json", "--inventory", str(fab_lab)).stdout)[
        "hosts"
    ]
    assert host["services"] == []


def test_reset_gpus_frees_what_nobody_holds(fab: Call, fab_lab: Path, broken: Callable[[str], None]) -> None:
    broken("gpu-memory-held")
    ran = fab("reset-gpus", "node-174", "--yes", FLEETOPS_INVENTORY=str(fab_lab))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (host,) = json.loads(fab("probe", "--hosts", "node-174", "--json", "--inventory", str(fab_lab)).stdout)[
        "hosts"
    ]
    assert host["summary"]["gpus"]["held_bytes"] == 0
