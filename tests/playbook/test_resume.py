"""Which run was interrupted, as the journals tell it; and that it is told as finished once another has ended well."""

from pathlib import Path

import pytest

from fleetops.playbook.journal import Journal, list_runs, note_as_finished
from fleetops.playbook.resume import interrupted_in, node_of

NODE = "node-174"
FIRST, SECOND, THIRD = (f"20261130-12000{number}-{NODE}-abc12{number}" for number in range(3))


@pytest.fixture
def run(tmp_path: Path):
    """Write one run's journal: what it went on from, its steps' changes, and how it ended ("" for cut off)."""

    def write(run_id: str, *changes: str, end: str = "", continues: str = "", open_change: str = "") -> None:
        journal = Journal(tmp_path, run_id)
        at = float(run_id[14])
        goes_on = {"continues": continues} if continues else {}
        journal.write("begin", at, playbook="recover", node=NODE, **goes_on)
        for step in changes:
            journal.write("intent", at + 1, step=step, host="pve-01", why=f"do {step}", argv=["x"])
            journal.write("outcome", at + 2, step=step, status=0)
        if open_change:
            journal.write("intent", at + 3, step=open_change, host="pve-01", why="stop node-174", argv=["x"])
        if end:
            journal.write("end", at + 4, status=end, why="")
        journal.close()

    return write


def test_a_run_that_was_cut_off_is_told_with_the_change_that_nobody_knows_the_end_of(run, tmp_path):
    run(FIRST, "stop-service", open_change="power-cycle")
    found = interrupted_in(tmp_path, NODE)
    assert (found.run_id, found.playbook, found.chain) == (FIRST, "recover", (FIRST,))
    assert "intent of power-cycle" in found.how
    assert found.unknown == "power-cycle on pve-01: stop node-174"
    assert interrupted_in(tmp_path, "node-17") is None


def test_when_a_service_was_started_is_told(run, tmp_path):
    run(FIRST, "start-service")
    found = interrupted_in(tmp_path, NODE)
    assert (found.launched_at, found.unknown) == (1.0, "")


@pytest.mark.parametrize("end", ["done", "failed"])
def test_a_later_run_that_ended_leaves_nothing_to_go_on_from(run, tmp_path, end):
    run(FIRST, open_change="stop-service")
    run(SECOND, "stop-service", end=end)
    assert interrupted_in(tmp_path, NODE) is None


@pytest.mark.parametrize("end", ["refused", "failed"])
def test_a_later_one_that_ended_before_it_changed_anything_ends_nothing(run, tmp_path, end):
    run(FIRST, open_change="stop-service")
    run(SECOND, end=end)
    assert interrupted_in(tmp_path, NODE).run_id == FIRST


@pytest.mark.parametrize("claim", ["power-cycle-stop", "power-cycle-start"])
@pytest.mark.parametrize(("ended", "told"), [("failed", True), ("done", False)])
def test_one_that_failed_while_it_restarted_the_guest_is_told_for_as_long_as_that_is_down(
    tmp_path, claim, ended, told
):
    journal = Journal(tmp_path, FIRST)
    argv = ["sh", "-c", "...", "fleetops-submit", f"/run/fleetops/runs/{FIRST}/{claim}"]
    journal.write("begin", 0.0, playbook="recover", node=NODE)
    journal.write("intent", 1.0, step="power-cycle", host="pve-01", why="stop node-174", argv=argv)
    journal.write("step-end", 2.0, step="power-cycle", status=ended, detail="")
    journal.write("end", 3.0, status="failed", why="pve-01 does not answer")
    journal.close()
    found = interrupted_in(tmp_path, NODE)
    assert (found is not None) == told
    if found:
        assert (found.if_down, found.how) == (True, "failed: pve-01 does not answer")


def test_one_that_the_operator_interrupted_counts_once_it_has_changed_something(run, tmp_path):
    run(FIRST, end="interrupted")
    assert interrupted_in(tmp_path, NODE) is None
    run(SECOND, "stop-service", end="interrupted")
    assert interrupted_in(tmp_path, NODE).how == "interrupted by the operator"


def test_one_that_went_on_and_was_cut_off_itself_brings_the_first_along(run, tmp_path):
    run(FIRST, open_change="stop-service")
    run(SECOND, continues=FIRST)
    assert interrupted_in(tmp_path, NODE).chain == (SECOND, FIRST)


def test_it_is_taken_over_once_a_run_that_went_on_from_it_has_ended_well(run, tmp_path):
    run(FIRST, open_change="stop-service")
    run(SECOND, "stop-service", end="failed", continues=FIRST)
    told = {one.run_id: (one.status, one.why) for one in list_runs(tmp_path)}
    assert told[FIRST] == ("unfinished", f"run {SECOND} went on from it: failed")
    run(THIRD, "stop-service", end="done", continues=FIRST)
    told = {one.run_id: (one.status, one.why) for one in list_runs(tmp_path)}
    assert told[FIRST] == ("taken-over", f"run {THIRD} went on from it: done")


def test_one_of_which_nothing_is_left_is_closed_also_with_a_last_line_that_was_cut_off(run, tmp_path):
    run(FIRST, "start-service")
    path = tmp_path / "runs" / FIRST / "journal.jsonl"
    path.write_text(path.read_text() + '{"at": 9, "ev')
    note_as_finished(path.parent, 9.0, "node-174 was found well")
    assert interrupted_in(tmp_path, NODE) is None
    [told] = list_runs(tmp_path)
    assert (told.status, told.why) == ("taken-over", "node-174 was found well")


def test_a_run_names_its_node():
    assert node_of("20261130-120000-rack-7-node-3-abc123") == "rack-7-node-3"
