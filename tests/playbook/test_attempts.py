"""Attempts: how many are left, who is told what, and that they are counted on the host, once, under its lock."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from machines import bare, vm
from node_scenes import NODE, hypervisor_readings, missing, observe
from patient import Patient

from fleetops.facts import attempts as fact
from fleetops.model.attempts import ATTEMPTS, Attempt
from fleetops.model.errors import FleetopsError, Refused
from fleetops.model.fleet import Inventory
from fleetops.platforms import all_platforms
from fleetops.playbook import attempts, fence, lock
from fleetops.playbook.attempts import count_attempt, host_of, is_counted
from fleetops.playbook.guards import first_objection, objection
from fleetops.playbook.lock import Owner, take_lock
from fleetops.playbook.lost import Sender
from fleetops.steps.support.base import Situation

MINUTE, HOUR = 60.0, 3600.0


def made(ago_s: float, run_id: str = "run-0") -> Attempt:
    return Attempt(run_id=run_id, by="ada on ops-1", ago_s=ago_s)


def scene(*counted: Attempt):
    return observe(on_hypervisor={**hypervisor_readings(), ATTEMPTS: counted})


@pytest.mark.parametrize(
    "counted",
    [
        (),
        (made(30 * MINUTE),),
        (made(31 * MINUTE, "b"), made(24 * HOUR, "a")),
    ],
    ids=["none", "half an hour ago", "the other one a day ago"],
)
def test_an_attempt_is_left(counted):
    assert objection("attempts", scene(*counted)) is None


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        (
            (made(12 * MINUTE),),
            "12 min ago by run run-0 of ada on ops-1: the next such run is allowed in 18 min",
        ),
        (
            (made(29 * MINUTE + 30),),
            "29 min ago by run run-0 of ada on ops-1: the next such run is allowed in 1 min",
        ),
        (
            (made(2 * HOUR, "b"), made(5 * HOUR, "a")),
            "2 h ago by run b of ada on ops-1 (2 such runs within a day): the next such run is allowed in 19 h",
        ),
        ((made(MINUTE, "c"), made(23.9 * HOUR, "a")), "the next such run is allowed in 29 min"),
    ],
    ids=["within half an hour", "a minute too early", "twice in a day", "whichever is later"],
)
def test_too_many_are_refused_with_when_by_whom_and_until_when(counted, told):
    refused = objection("attempts", scene(*counted))
    assert refused is not None
    assert refused.guard == "attempts"
    assert refused.message.startswith("node-174 was reset or power-cycled ")
    assert told in refused.message
    assert '--waive attempts="' in refused.hint


def test_what_cannot_be_read_proves_that_none_is_left():
    refused = objection("attempts", observe(on_hypervisor={**hypervisor_readings(), ATTEMPTS: missing()}))
    assert refused is not None
    assert "could not be read on pve-01" in refused.message


def situation(observation, **fields):
    inventory = Inventory(path=Path(), nodes={"node-174": NODE})
    settled = {"run_id": "run-1", **fields}
    return Situation(inventory=inventory, observation=observation, findings=(), before=observation, **settled)


def test_within_a_run_and_in_one_that_goes_on_from_it_it_is_the_same_attempt():
    seen = scene(made(5.0, "run-0"))
    assert first_objection(("attempts",), situation(seen)) is not None
    assert first_objection(("attempts",), situation(seen, run_id="run-0")) is None
    assert first_objection(("attempts",), situation(seen, continues=("run-0",))) is None
    assert is_counted(seen, ("run-1", "run-0"))
    assert not is_counted(seen, ("run-1",))


def test_it_can_be_waived_and_no_other_guard_with_it():
    seen = scene(made(5.0))
    waived = situation(seen, waived={"attempts": "the cable was replaced"})
    assert first_objection(("attempts",), waived) is None
    protected = replace(waived, observation=replace(seen, node=replace(NODE, protected=True)))
    refused = first_objection(("attempts", "protected"), replace(protected, waived={"protected": "I know"}))
    assert refused is not None
    assert refused.guard == "attempts"
    refused = first_objection(("protected",), replace(protected, waived={"protected": "I know"}))
    assert refused is not None
    assert refused.guard == "protected"


@pytest.mark.parametrize("kind", ["lxc", "vm", "bare"])
def test_the_rungs_that_reset_or_switch_power_have_it(kind):
    platform = all_platforms()[kind]
    assert "attempts" in platform.guards
    assert platform.power is None or "attempts" in platform.power_guards


def test_it_is_counted_on_the_hypervisor_and_on_the_node_where_there_is_none():
    assert host_of(scene()) == "pve-01"
    assert host_of(vm()) == "pve-01"
    assert host_of(bare()) == "node-174"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module, name, place in (
        (lock, "_FOLDER", "locks"), (fence, "LOCKS", "locks"), (lock, "_RUNS", "runs"), (fence, "RUNS", "runs"),
        (attempts, "FOLDER", "attempts"), (fact, "FOLDER", "attempts"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, str(tmp_path / place))
    return tmp_path


def count(run_id: str, session: LocalSession | None = None) -> None:
    session, owner = session or LocalSession(), Owner.this_process(run_id)
    take_lock(session, "node.lock", owner)
    count_attempt(Sender(session, run_id, "node.lock", Patient()), "node-174", owner)
    lock.release_lock(session, "node.lock", run_id)


def read() -> tuple[Attempt, ...]:
    made_of = fact.fact("node-174")
    found = made_of.read(LocalSession().run(made_of.command))
    assert isinstance(found, tuple), found
    return found


def test_what_was_counted_is_read_again_with_who_and_when(folder):
    assert read() == ()
    count("run-1")
    (one,) = read()
    me = Owner.this_process("run-1")
    assert (one.run_id, one.by) == ("run-1", f"{me.user} on {me.controller}")
    assert 0 <= one.ago_s < 60


def test_a_run_is_counted_once_however_often_it_asks(folder):
    for run_id in ("run-1", "run-1", "run-2", "run-1"):
        count(run_id)
    assert sorted(one.run_id for one in read()) == ["run-1", "run-2"]


def test_only_the_last_ones_are_kept_and_nothing_else_is_left(folder):
    for number in range(23):
        count(f"run-{number:02d}")
    assert sorted(one.run_id for one in read()) == [f"run-{number:02d}" for number in range(3, 23)]
    assert [path.name for path in (folder / "attempts").iterdir()] == ["node-174"]


def test_of_another_boot_nothing_counts(folder):
    count("run-1")
    path = folder / "attempts" / "node-174"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"boot_id": "another"}) + "\n")
    assert read() == ()


def test_without_its_lock_a_run_counts_nothing(folder):
    session, owner = LocalSession(), Owner.this_process("run-1")
    with pytest.raises(Refused, match="not its own any more") as caught:
        count_attempt(Sender(session, "run-1", "node.lock", Patient()), "node-174", owner)
    assert caught.value.guard == "lock"
    assert read() == ()


def test_where_it_cannot_be_written_nothing_more_is_changed(folder):
    (folder / "attempts").write_text("in the way")
    with pytest.raises(FleetopsError, match="could not be counted on node-174"):
        count("run-1")
