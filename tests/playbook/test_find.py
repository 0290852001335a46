"""Which playbooks there are: shipped ones, and the user's own beside the inventory."""

import io
import json
from pathlib import Path

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit
from fleetops.playbook.find import find_playbook, found_playbooks, listed, read_found

OWN = "summary: clear it\nsteps:\n  - step: keep-evidence\n  - step: stop-service\n"
BAD = "summary: x\nsteps:\n  - step: stop-servise\n"
FLEET = """\
nodes:
  node-174: {address: 127.0.0.1, port: 1}
"""


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    folder = tmp_path / "inventory"
    (folder / "playbooks").mkdir(parents=True)
    (folder / "fleet.yaml").write_text(FLEET)
    return folder


def write(inventory: Path, name: str, text: str) -> Path:
    path = inventory / "playbooks" / f"{name}.yaml"
    path.write_text(text)
    return path


def call(folder: Path, *argv: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    environ = {"HOME": str(folder), "FLEETOPS_STATE": str(folder / "state")}
    world = World(stdin=io.StringIO(), stdout=stdout, stderr=stderr, environ=environ, cwd=folder)
    return run(list(argv), world), stdout.getvalue(), stderr.getvalue()


def test_without_an_inventory_there_are_the_shipped_ones():
    names = [one.name for one in found_playbooks(None)]
    assert names == ["drain-and-restart", "host-reboot-assist", "kill", "launch", "recover", "reset-gpus"]
    assert not any(one.own for one in found_playbooks(None))


@pytest.mark.parametrize("named", ["folder", "file"])
def test_an_own_one_lies_beside_the_inventory(inventory, named):
    write(inventory, "clear", OWN)
    place = inventory if named == "folder" else inventory / "fleet.yaml"
    found = find_playbook("clear", place, inventory)
    assert (found.own, found.shadows) == (True, False)
    assert read_found(found).file == str(inventory / "playbooks/clear.yaml")


def test_what_is_no_playbook_is_passed_over(inventory):
    (inventory / "playbooks/README.md").write_text("about")
    assert not any(one.own for one in found_playbooks(inventory))


def test_an_own_one_of_a_shipped_name_is_taken_and_said_to_be(inventory):
    write(inventory, "kill", OWN)
    found = find_playbook("kill", inventory, inventory)
    assert (found.own, found.shadows) == (True, True)
    assert [entry.step for entry in read_found(found).entries] == ["keep-evidence", "stop-service"]


def test_the_commands_take_the_shipped_one_all_the_same(inventory):
    write(inventory, "kill", BAD)
    code, _, stderr = call(inventory.parent, "kill", "node-174", "--dry-run")
    assert code == Exit.UNKNOWN  # the node does not answer; its own playbook was not even read
    assert "stop-servise" not in stderr


def test_one_with_problems_does_not_hide_the_others(inventory):
    write(inventory, "bad", BAD)
    found = {one.name: one for one in listed(found_playbooks(inventory))}
    assert len(found["bad"].problems) == 1
    assert found["recover"].steps[0] == "keep-evidence"


def test_an_unknown_name_is_told_with_its_nearest(inventory):
    write(inventory, "clear-it", OWN)
    with pytest.raises(UsageError) as caught:
        find_playbook("clear-if", inventory, inventory)
    assert caught.value.hint == "did you mean `clear-it`?"


def test_the_list_says_whose_each_is(inventory):
    write(inventory, "clear", OWN)
    write(inventory, "kill", OWN)
    write(inventory, "bad", BAD)
    code, stdout, stderr = call(inventory.parent, "playbook", "list")
    assert (code, stderr) == (Exit.FINE, "")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in stdout.splitlines() if line.strip()}
    assert lines["clear"] == "own clear it"
    assert lines["kill"].startswith("own, in place of the shipped one")
    assert lines["recover"].startswith("shipped")
    assert lines["bad"] == "own 1 problem: fleetops playbook check bad"


def test_the_list_in_json(inventory):
    write(inventory, "kill", OWN)
    code, stdout, _ = call(inventory.parent, "playbook", "list", "--json")
    body = json.loads(stdout)
    assert (code, body["schema"]) == (Exit.FINE, "fleetops.playbook-list/1")
    kill = next(one for one in body["playbooks"] if one["name"] == "kill")
    assert (kill["own"], kill["shadows"], kill["steps"]) == (True, True, ["keep-evidence", "stop-service"])


def test_the_list_without_any_inventory_says_that_it_is_not_all(tmp_path):
    code, stdout, stderr = call(tmp_path, "playbook", "list")
    assert code == Exit.FINE
    assert "recover" in stdout
    assert stderr.startswith("only shipped playbooks: there is no inventory")


def test_an_inventory_that_was_named_and_is_not_there_is_an_error(tmp_path):
    code, stdout, _ = call(tmp_path, "playbook", "list", "--inventory", "nowhere")
    assert (code, stdout) == (Exit.USAGE, "")


def test_every_problem_of_every_playbook_is_told_at_once_with_its_place(inventory):
    bad, worse = (
        write(inventory, "bad", BAD),
        write(inventory, "worse", OWN + "    when: [no-such]\nextra: 1\n"),
    )
    code, stdout, stderr = call(inventory.parent, "playbook", "check")
    assert (code, stdout) == (Exit.USAGE, "")
    assert f"{bad}:3:11" in stderr
    assert f"{worse}:5:12" in stderr
    assert f"{worse}:6:1" in stderr
    assert "3 problems" in stderr


def test_what_a_step_rests_on_is_missed_with_its_place(inventory):
    lone = write(inventory, "lone", "summary: x\nsteps:\n  - step: start-service\n")
    code, _, stderr = call(inventory.parent, "playbook", "check", "lone", "--json")
    assert code == Exit.USAGE
    (problem,) = json.loads(stderr)["problems"]
    assert (problem["file"], problem["line"], problem["column"]) == (str(lone), 3, 11)
    assert "start-service rests on prove, size, preflight, start-guard" in problem["message"]


def test_a_proof_that_may_be_skipped_is_none(inventory):
    steps = "".join(
        f"  - step: {name}\n" for name in ("prove", "size", "preflight", "start-guard", "start-service")
    )
    write(inventory, "sly", "summary: x\nsteps:\n" + steps.replace("prove", "prove\n    when: [no-banner]"))
    code, _, stderr = call(inventory.parent, "playbook", "check", "sly")
    assert code == Exit.USAGE
    assert "sly.yaml:8:11: steps[4].step: start-service rests on prove" in stderr


def test_a_file_is_checked_wherever_it_lies(tmp_path):
    (tmp_path / "mine.yaml").write_text(OWN)
    code, stdout, _ = call(tmp_path, "playbook", "check", "mine.yaml")
    assert (code, stdout) == (Exit.FINE, f"{tmp_path}/mine.yaml: no problem\n")


def test_a_file_that_is_not_there(tmp_path):
    code, stdout, stderr = call(tmp_path, "playbook", "check", "./gone.yaml")
    assert (code, stdout) == (Exit.USAGE, "")
    assert "gone.yaml" in stderr


def test_a_run_refuses_a_bad_one_before_any_host_is_asked(inventory):
    write(inventory, "bad", BAD)
    code, _, stderr = call(inventory.parent, "playbook", "run", "bad", "node-174", "--dry-run")
    assert code == Exit.USAGE
    assert "bad.yaml:3:11" in stderr


def test_a_shadowing_one_is_said_at_each_run(inventory):
    path = write(inventory, "kill", OWN)
    code, _, stderr = call(inventory.parent, "playbook", "run", "kill", "node-174", "--dry-run")
    assert code == Exit.UNKNOWN
    assert stderr.startswith(f"{path} is run in place of the shipped playbook kill\n")


def test_from_and_only_are_asked_of_the_playbook_before_any_host(inventory):
    code, _, stderr = call(inventory.parent, "playbook", "run", "kill", "node-174", "--only", "power-cycle")
    assert code == Exit.USAGE
    assert "playbook kill has no step 'power-cycle'" in stderr
