"""The fence: what a run sends without its lock changes nothing, and what it makes is seen by whoever would take over."""

import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession

from fleetops.model.command import Command, shell
from fleetops.model.errors import Refused
from fleetops.playbook import fence, lock
from fleetops.playbook.fence import fenced, was_fenced_off
from fleetops.playbook.lock import Owner, release_lock, take_lock
from fleetops.steps.support.detached import under_way

PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module, name in ((lock, "_FOLDER"), (fence, "LOCKS")):
        monkeypatch.setattr(module, name, str(tmp_path / "locks"))
    for module, name in ((lock, "_RUNS"), (fence, "RUNS")):
        monkeypatch.setattr(module, name, str(tmp_path / "runs"))
    return tmp_path


@pytest.fixture
def session() -> LocalSession:
    return LocalSession()


def touch(path: Path, run_id: str = "run-1") -> Command:
    command = Command(argv=("touch", str(path)), changes=True, root=True)
    return fenced(command, lock="node.lock", run_id=run_id, claim="stop-service-1")


def test_with_its_lock_a_change_is_made_as_if_there_were_no_fence(session, folder):
    take_lock(session, "node.lock", Owner.this_process("run-1"))
    script = shell('cat; printf "%s|" "$@" "$(umask)"; exit 3', "a b", "", "$(x)", root=True, changes=True)
    inner = replace(script, stdin="sent\n")
    plain, outer = session.run(inner), fenced(inner, lock="node.lock", run_id="run-1", claim="x")
    made = session.run(outer)
    assert (made.status, made.stdout, made.stderr) == (plain.status, plain.stdout, plain.stderr)
    assert made.stdout.startswith("sent\na b||$(x)|")


@pytest.mark.parametrize(
    "of_lock",
    [None, {"owner": {"run_id": "run-2"}}, {"boot_id": "another"}, {"until_uptime": 0}],
    ids=["given back", "somebody else's", "another boot's", "lapsed"],
)
def test_without_its_lock_it_changes_nothing(session, folder, of_lock):
    take_lock(session, "node.lock", Owner.this_process("run-1"))
    path = folder / "locks" / "node.lock"
    held = json.loads(path.read_text())
    path.unlink()
    if of_lock:
        path.write_text(json.dumps(held | of_lock) + "\n")
    outcome = session.run(touch(folder / "changed"))
    assert was_fenced_off(outcome), outcome
    assert not (folder / "changed").exists()
    assert list((folder / "runs" / "run-1").iterdir()) == []


def test_a_change_that_fails_with_the_same_status_was_let_through(session, folder):
    take_lock(session, "node.lock", Owner.this_process("run-1"))
    command = Command(argv=("sh", "-c", "exit 77"), changes=True, root=True)
    outcome = session.run(fenced(command, lock="node.lock", run_id="run-1", claim="x"))
    assert outcome.status == 77
    assert not was_fenced_off(outcome)


def test_a_change_that_goes_on_without_its_controller_keeps_the_lock_from_everybody(session, folder):
    gone = replace(Owner.this_process("run-1"), start_ticks=1)
    take_lock(session, "node.lock", gone)
    command = Command(argv=("sleep", "60"), changes=True, root=True)
    going = subprocess.Popen(fenced(command, lock="node.lock", run_id="run-1", claim="reset-gpus-1").argv)
    until = time.monotonic() + PATIENCE_S
    while not session.run(under_way("run-1", str(folder / "runs"))).stdout:
        assert time.monotonic() < until
        time.sleep(0.02)
    with pytest.raises(Refused, match=r"still under way on .*: reset-gpus-\d+"):
        take_lock(session, "node.lock", Owner.this_process("run-2"))
    assert not release_lock(session, "node.lock", "run-1")
    assert "run-1" in (folder / "locks" / "node.lock").read_text()
    going.kill()
    going.wait()
    take_lock(session, "node.lock", Owner.this_process("run-2"))


def test_a_change_that_begins_while_the_lock_is_taken_over_gives_it_back(session, folder):
    """The claim is there, its look at the lock was just before: whoever took the lock looks once more, and leaves it."""
    gone = replace(Owner.this_process("run-1"), start_ticks=1)
    take_lock(session, "node.lock", gone)
    claim = folder / "runs" / "run-1" / "reset-gpus-1"
    claim.mkdir(parents=True)
    me = Owner.this_process("run-2")

    class Late(LocalSession):
        def run(self, command, on_output=None):
            outcome = super().run(command)
            if "fleetops-unlock" in command.argv:
                (claim / "pid").write_text(f"{me.pid} {me.start_ticks}\n")
            return outcome

    with pytest.raises(Refused, match="still under way"):
        take_lock(Late(), "node.lock", me)
    assert not (folder / "locks" / "node.lock").exists()


def test_no_change_is_made_but_as_root():
    with pytest.raises(ValueError, match="root"):
        fenced(Command(argv=("true",), changes=True), lock="node.lock", run_id="run-1", claim="x")


def test_the_fence_costs_no_round_trip(session, folder):
    take_lock(session, "node.lock", Owner.this_process("run-1"))
    before = len(session.ran)
    session.run(touch(folder / "changed"))
    assert (folder / "changed").exists()
    assert len(session.ran) == before + 1
