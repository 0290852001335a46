"""The breaker before one run: what is let through, what is held up before anything is changed, what counts afterwards."""

from pathlib import Path

import pytest

from fleetops.model.breaker import CountedRun
from fleetops.model.errors import FleetopsError, Refused
from fleetops.model.plan import Plan, PlannedStep
from fleetops.model.record import Result
from fleetops.playbook.breaker import Gate
from fleetops.playbook.load import shipped_playbook, without_relaunch
from fleetops.store.breaker import BreakerStore


@pytest.fixture
def store(tmp_path: Path) -> BreakerStore:
    return BreakerStore(tmp_path, 2)


@pytest.fixture
def gate(store):
    def make(node: str = "n1", book: str = "recover", tell=lambda _: None) -> Gate:
        return Gate(store, node, shipped_playbook(book), lambda: 100.0, tell)

    return make


def ends(gate: Gate, status: str, *, changed: bool = True, run_id: str = "") -> None:
    run_id = run_id or f"run-{gate.node}"
    with gate.passed(run_id) as passage:
        passage.result = Result(run_id=run_id, node=gate.node, status=status, why="why it ended so")
        passage.changed = changed


def nodes(store: BreakerStore) -> tuple[str, ...]:
    return store.read(100.0).nodes


@pytest.mark.parametrize("status", ["failed", "refused", "interrupted"])
def test_a_run_that_ended_badly_after_a_change_counts(gate, store, status):
    ends(gate(), status)
    (one,) = store.read(100.0).runs
    assert (one.node, one.status, one.why, one.run_id) == ("n1", status, "why it ended so", "run-n1")


@pytest.mark.parametrize("status", ["failed", "refused", "interrupted"])
def test_one_that_changed_nothing_does_not(gate, store, status):
    ends(gate(), status, changed=False)
    assert nodes(store) == ()


def test_one_that_runs_counts_and_one_that_ended_well_does_not(gate, store):
    with gate().passed("run-n1") as passage:
        assert nodes(store) == ("n1",)
        passage.result = Result(run_id="run-n1", node="n1", status="done")
    assert nodes(store) == ()


def test_one_whose_controller_died_goes_on_counting(gate, store):
    with gate().passed("run-n1"):
        pass
    assert [one.status for one in store.read(100.0).runs] == ["running"]


def test_one_that_could_not_begin_does_not_count(gate, store):
    with pytest.raises(FleetopsError, match="journal"), gate().passed("run-n1"):
        raise FleetopsError("cannot write the journal")
    assert nodes(store) == ()


def trip(gate) -> None:
    ends(gate("n8"), "failed")
    ends(gate("n9"), "failed")


@pytest.mark.parametrize("book", ["recover", "reset-gpus"])
def test_open_it_refuses_other_nodes_before_the_run_begins(gate, store, book):
    trip(gate)
    began = False
    with pytest.raises(Refused) as caught, gate(book=book).passed("run-n1"):
        began = True
    assert not began
    assert caught.value.guard == "breaker"
    assert "n[8-9]" in caught.value.message
    assert "fleetops breaker reset --why" in caught.value.hint
    assert nodes(store) == ("n8", "n9")


def test_open_it_lets_the_nodes_that_count_be_recovered(gate, store):
    trip(gate)
    ends(gate("n8"), "done", run_id="again")
    assert nodes(store) == ("n9",)


def test_what_only_stops_or_only_starts_a_service_is_not_held_up_and_not_counted(gate, store):
    trip(gate)
    for book in ("kill", "launch"):
        ends(gate(book=book), "failed")
    assert nodes(store) == ("n8", "n9")


def test_a_launch_that_serves_shows_the_node_well_and_a_kill_shows_nothing(gate, store):
    ends(gate("n8"), "failed")
    ends(gate("n8", "kill"), "done")
    assert nodes(store) == ("n8",)
    ends(gate("n8", "launch"), "done")
    assert nodes(store) == ()


def test_a_reset_makes_up_for_failed_resets_alone(gate, store):
    ends(gate("n8"), "failed", run_id="a")
    ends(gate("n8", "reset-gpus"), "failed", run_id="b")
    ends(gate("n8", "reset-gpus"), "done", run_id="c")
    assert [one.run_id for one in store.read(100.0).runs] == ["a"]


def test_a_recovery_without_relaunch_has_shown_the_node_clean(gate, store):
    ends(gate("n8"), "failed")
    clean = Gate(store, "n8", without_relaunch(shipped_playbook("recover")), lambda: 100.0, lambda _: None)
    ends(clean, "done", run_id="again")
    assert nodes(store) == ()


def test_a_node_found_well_is_no_longer_counted(gate, store):
    ends(gate("n8"), "failed")
    gate("n8").found_well()
    assert nodes(store) == ()


PLAN = Plan(
    playbook="recover",
    node="n1",
    profile="",
    steps=(
        PlannedStep(step="keep-evidence", title="keep"),
        PlannedStep(step="reset-gpus", title="r", skip="not needed"),
    ),
)


def test_a_plan_says_before_that_it_would_be_refused_and_opens_nothing(gate, store):
    assert gate().judged(PLAN) is PLAN
    for number in (8, 9):
        store.begin(CountedRun(run_id=f"r{number}", node=f"n{number}", playbook="recover", began_at=99.0))
    obstacle = gate().judged(PLAN).first_obstacle
    assert obstacle is not None
    assert obstacle.guard == "breaker"
    assert "2 nodes are under recovery or failed (n[8-9]), 2 is the limit" in obstacle.blocked
    assert not store.read(100.0).is_open
    assert gate(book="kill").judged(PLAN) is PLAN


def test_that_its_end_could_not_be_noted_is_said_and_hides_nothing(gate, tmp_path):
    told: list[str] = []
    with gate(tell=told.append).passed("run-n1") as passage:
        passage.result = Result(run_id="run-n1", node="n1", status="done")
        (tmp_path / "fleetops.db").write_text("not a database, and long enough to be looked at" * 50)
    assert "so it goes on counting" in told[0]
