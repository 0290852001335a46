"""What the breaker counts, when it opens, who closes it, and that many controllers on one store agree."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from fleetops.model.breaker import CountedRun
from fleetops.model.errors import FleetopsError
from fleetops.store.breaker import WINDOW_S, BreakerStore
from fleetops.store.database import Store

LIMIT = 3


@pytest.fixture
def store(tmp_path: Path) -> BreakerStore:
    return BreakerStore(tmp_path, LIMIT)


def run(node: str, at: float = 100.0, **fields) -> CountedRun:
    settled = {"run_id": f"{node}-{at:g}", "playbook": "recover", "began_at": at, **fields}
    return CountedRun(node=node, **settled)


def fails(store: BreakerStore, node: str, at: float = 100.0) -> None:
    assert store.begin(run(node, at)) is None
    store.end_badly(run(node, at, status="failed", ended_at=at + 10, why="not reclaimed"), at + 10)


def test_below_the_limit_everything_is_let_through(store):
    fails(store, "n1")
    fails(store, "n2")
    assert store.begin(run("n3")) is None
    seen = store.read(120.0)
    assert seen.nodes == ("n1", "n2", "n3")
    assert [one.status for one in seen.runs if one.node == "n3"] == ["running"]


def test_the_failure_that_reaches_the_limit_opens_it_for_every_other_node(store):
    for node in ("n1", "n2", "n3"):
        fails(store, node)
    seen = store.read(120.0)
    assert seen.opened_at == 110.0
    assert "3 nodes are under recovery or failed (n[1-3]), 3 is the limit" in seen.opened_why
    refused = store.begin(run("n4"))
    assert refused is not None
    assert "the breaker is open" in refused.holds_up("n4")
    assert "n4" not in store.read(120.0).nodes


def test_a_node_that_counts_already_may_be_recovered_again(store):
    for node in ("n1", "n2", "n3"):
        fails(store, node)
    assert store.begin(run("n2", 200.0)) is None


def test_as_many_under_way_at_once_hold_the_next_one_up(store):
    for node in ("n1", "n2", "n3"):
        assert store.begin(run(node)) is None
    assert not store.read(100.0).is_open
    refused = store.begin(run("n4", 105.0))
    assert refused is not None
    assert store.read(106.0).opened_at == 105.0


def test_it_stays_open_whatever_becomes_of_the_nodes_until_a_person_closes_it(store):
    for node in ("n1", "n2", "n3"):
        fails(store, node)
    for node in ("n1", "n2", "n3"):
        store.well(node)
    assert store.read(2 * WINDOW_S).runs == ()
    assert store.begin(run("n4", 2 * WINDOW_S)) is not None
    store.reset(2 * WINDOW_S, "ada on ops-1", "the switch was replaced")
    assert store.begin(run("n4", 2 * WINDOW_S)) is None


def test_a_node_that_became_well_does_not_count(store):
    fails(store, "n1")
    fails(store, "n2")
    store.well("n1")
    fails(store, "n3")
    assert store.read(120.0).nodes == ("n2", "n3")
    assert not store.read(120.0).is_open


def test_a_reset_that_went_well_makes_up_for_a_failed_reset_alone(store):
    fails(store, "n1")
    store.begin(run("n1", 150.0, playbook="reset-gpus", run_id="r"))
    store.well("n1", "reset-gpus")
    assert [one.playbook for one in store.read(200.0).runs] == ["recover"]


def test_what_is_long_past_does_not_count(store):
    fails(store, "n1", 100.0)
    assert store.read(110.0 + WINDOW_S - 1).nodes == ("n1",)
    assert store.read(110.0 + WINDOW_S).nodes == ()


def test_a_run_that_changed_nothing_never_counted_and_an_earlier_failure_still_does(store):
    fails(store, "n1")
    store.begin(run("n1", 200.0))
    store.drop("n1-200")
    assert [one.run_id for one in store.read(210.0).runs] == ["n1-100"]


def test_closing_it_writes_down_who_when_why_and_what_counted(store):
    for node in ("n1", "n2", "n3"):
        fails(store, node)
    before = store.reset(500.0, "ada on ops-1", "a bad driver package, taken back")
    assert before.nodes == ("n1", "n2", "n3")
    now = store.read(501.0)
    assert (now.is_full, now.runs) == (False, ())
    (reset,) = now.resets
    assert (reset.at, reset.who, reset.why) == (500.0, "ada on ops-1", "a bad driver package, taken back")
    assert reset.nodes == ("n1", "n2", "n3")


def test_a_run_that_goes_on_over_a_reset_counts_when_it_ends_badly(store):
    store.begin(run("n1"))
    store.reset(105.0, "ada on ops-1", "known")
    store.end_badly(run("n1", status="failed", ended_at=110.0), 110.0)
    assert store.read(111.0).nodes == ("n1",)


def test_of_many_controllers_at_once_no_more_than_the_limit_begin(tmp_path):
    def begin(number: int) -> bool:
        return BreakerStore(tmp_path, LIMIT).begin(run(f"n{number}")) is None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(begin, range(24))) == LIMIT


def test_it_lies_beside_what_else_is_remembered_private(tmp_path, store):
    Store(tmp_path).record_machine_id("n1", "5e0c", 1.0)
    fails(store, "n1")
    assert Store(tmp_path).machine_id("n1") == "5e0c"
    assert (tmp_path / "fleetops.db").stat().st_mode & 0o777 == 0o600


def test_a_store_that_another_one_writes_for_too_long_is_told_and_not_guessed(tmp_path, store, monkeypatch):
    monkeypatch.setattr("fleetops.store.state_file._PATIENCE_S", 0.05)
    store.read(0.0)
    with closing(sqlite3.connect(tmp_path / "fleetops.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(FleetopsError, match="what the breaker counts cannot be written in"):
            store.begin(run("n1"))


def test_a_file_that_is_no_store_is_told(tmp_path, store):
    (tmp_path / "fleetops.db").write_text("not a database, and long enough to be looked at" * 50)
    with pytest.raises(FleetopsError, match="not a database"):
        store.read(0.0)
