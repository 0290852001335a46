"""The lock: one holder, named; given back only by its holder; lapsed with its boot, its lease or its process."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession

from fleetops.model.errors import Refused
from fleetops.playbook import lock
from fleetops.playbook.lock import Owner, must_be_free, release_lock, take_lock


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "_FOLDER", str(tmp_path / "locks"))
    monkeypatch.setattr(lock, "_RUNS", str(tmp_path / "runs"))
    return tmp_path / "locks"


@pytest.fixture
def session() -> LocalSession:
    return LocalSession()


def other_controller(run_id: str) -> Owner:
    return replace(Owner.this_process(run_id), controller="ops-2.example")


def test_a_second_run_is_told_who_holds_it_and_since_when(session):
    take_lock(session, "node.lock", other_controller("run-1"))
    with pytest.raises(Refused) as caught:
        take_lock(session, "node.lock", Owner.this_process("run-2"))
    assert caught.value.guard == "lock"
    assert "run run-1" in caught.value.message
    assert "ops-2.example" in caught.value.message


def test_after_its_release_it_can_be_taken(session):
    take_lock(session, "node.lock", other_controller("run-1"))
    release_lock(session, "node.lock", "run-1")
    take_lock(session, "node.lock", Owner.this_process("run-2"))


def test_somebody_elses_lock_is_not_released(session, folder: Path):
    take_lock(session, "node.lock", other_controller("run-1"))
    release_lock(session, "node.lock", "run-2")
    assert '"run-1"' in (folder / "node.lock").read_text()
    assert [path.name for path in folder.iterdir()] == ["node.lock"]


@pytest.mark.parametrize("change", [{"boot_id": "another boot"}, {"until_uptime": 0}], ids=["boot", "lease"])
def test_a_lock_lapses_with_its_boot_and_with_its_lease(session, folder: Path, change):
    take_lock(session, "node.lock", other_controller("run-1"))
    held = json.loads((folder / "node.lock").read_text())
    (folder / "node.lock").write_text(json.dumps(held | change))
    take_lock(session, "node.lock", Owner.this_process("run-2"))
    assert "run-2" in (folder / "node.lock").read_text()


def test_a_lock_whose_controller_died_on_this_machine_lapses(session, folder: Path):
    take_lock(session, "node.lock", replace(Owner.this_process("run-1"), start_ticks=1))
    take_lock(session, "node.lock", Owner.this_process("run-2"))
    assert "run-2" in (folder / "node.lock").read_text()


@pytest.mark.parametrize("alive", [True, False], ids=["goes on", "has ended"])
def test_a_lapsed_lock_is_not_taken_over_while_a_change_of_its_run_goes_on(session, folder: Path, alive):
    runs = folder.parent / "runs"
    claim = runs / "run-1" / "power-cycle-start"
    claim.mkdir(parents=True)
    ticks = Owner.this_process("run-1").start_ticks
    (claim / "pid").write_text(f"{os.getpid()} {ticks if alive else ticks - 1}\n")
    take_lock(session, "node.lock", replace(Owner.this_process("run-1"), start_ticks=1))
    if not alive:
        take_lock(session, "node.lock", Owner.this_process("run-2"))
        return
    with pytest.raises(Refused, match=r"a change of it is still under way on .*: power-cycle-start"):
        take_lock(session, "node.lock", Owner.this_process("run-2"))
    assert "run-1" in (folder / "node.lock").read_text()


def test_a_lock_that_cannot_be_read_is_not_taken_over(session, folder: Path):
    folder.mkdir()
    (folder / "node.lock").write_text("not json")
    with pytest.raises(Refused, match="cannot be read"):
        take_lock(session, "node.lock", Owner.this_process("run-2"))


def test_of_many_at_once_exactly_one_gets_it(session):
    def attempt(number: int) -> bool:
        try:
            take_lock(LocalSession(), "node.lock", other_controller(f"run-{number}"))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 1


def test_whoever_only_asks_is_told_who_holds_it_and_changes_nothing(session, folder: Path):
    must_be_free(session, "hypervisor.lock")
    take_lock(session, "hypervisor.lock", other_controller("run-1"))
    held = (folder / "hypervisor.lock").read_text()
    with pytest.raises(Refused, match=r"is locked by run run-1 of .* on ops-2\.example .*, for \d+ s"):
        must_be_free(session, "hypervisor.lock")
    assert (folder / "hypervisor.lock").read_text() == held
    assert not session.ran[-1].changes


def test_a_lapsed_lock_is_free_to_whoever_asks_unless_a_change_of_its_run_goes_on(session, folder: Path):
    take_lock(session, "hypervisor.lock", replace(Owner.this_process("run-1"), start_ticks=1))
    must_be_free(session, "hypervisor.lock")
    claim = folder.parent / "runs" / "run-1" / "power-cycle-start"
    claim.mkdir(parents=True)
    (claim / "pid").write_text(f"{os.getpid()} {Owner.this_process('run-1').start_ticks}\n")
    with pytest.raises(Refused, match=r"still under way on .*: power-cycle-start"):
        must_be_free(session, "hypervisor.lock")


def test_a_lock_that_cannot_be_read_is_not_free(session, folder: Path):
    folder.mkdir()
    (folder / "hypervisor.lock").write_text("not json")
    with pytest.raises(Refused, match="cannot be read"):
        must_be_free(session, "hypervisor.lock")
