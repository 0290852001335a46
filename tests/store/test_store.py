"""What is remembered: the newest launch, the newest idle state, the first machine-id."""

import sqlite3
import stat
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Baseline
from fleetops.model.load import Load
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.database import Store


def launch(run_id: str, at: float, tokens: int) -> LaunchRecord:
    return LaunchRecord(
        node="node-174", profile="hicache48", at=at, run_id=run_id, capacity=Capacity(device_tokens=tokens)
    )


def test_the_last_launch_is_the_newest_one_of_another_run(tmp_path: Path):
    store = Store(tmp_path)
    store.record_launch(launch("old", 1.0, 116171))
    store.record_launch(launch("new", 2.0, 231120))
    assert store.last_launch("node-174") == launch("new", 2.0, 231120)
    assert store.last_launch("node-174", other_than="new") == launch("old", 1.0, 116171)
    assert store.last_launch("node-175") is None


def test_a_baseline_is_replaced_by_a_newer_one(tmp_path: Path):
    store = Store(tmp_path)
    store.record_baseline("node-174", 1.0, Baseline(available_bytes=1))
    newer = Baseline(available_bytes=445 * 10**9, gpu_used_bytes={"GPU-1": 4}, source="recorded 2026-11-29")
    store.record_baseline("node-174", 2.0, newer)
    assert Store(tmp_path).baseline("node-174") == newer


def test_all_baselines_are_told_by_node(tmp_path: Path):
    store = Store(tmp_path)
    for node, gb in (("node-175", 2), ("node-174", 1)):
        store.record_baseline(node, 1.0, Baseline(available_bytes=gb, gpu_model="NVIDIA H20"))
    assert {name: idle.available_bytes for name, idle in store.baselines().items()} == {
        "node-174": 1,
        "node-175": 2,
    }


def test_a_recorded_machine_id_is_never_overwritten(tmp_path: Path):
    store = Store(tmp_path)
    store.record_machine_id("node-174", "a" * 32, 1.0)
    store.record_machine_id("node-174", "b" * 32, 2.0)
    assert store.machine_id("node-174") == "a" * 32


def test_where_nothing_can_be_written_nothing_is_remembered_and_that_is_said_once(tmp_path: Path):
    told: list[str] = []
    store = Store(tmp_path / "not there", told.append)
    assert (store.machine_id("node-174"), store.baselines(), store.last_launch("node-174")) == ("", {}, None)
    assert told == []
    for _ in range(2):
        store.record_machine_id("node-174", "a" * 32, 1.0)
    [word] = told
    assert "unable to open database file; what is seen now is not remembered" in word
    for must in (store.must_be_writable, lambda: store.record_launch(launch("new", 1.0, 1))):
        with pytest.raises(FleetopsError, match="what is remembered between runs cannot be written in"):
            must()


def test_what_is_no_database_is_told_as_that_and_left_as_it_is(tmp_path: Path):
    (tmp_path / "fleetops.db").write_text(
        "somebody's notes, far longer than the head of a database would be " * 20
    )
    before = (tmp_path / "fleetops.db").read_text()
    with pytest.raises(FleetopsError, match="not a database"):
        Store(tmp_path).must_be_writable()
    assert (tmp_path / "fleetops.db").read_text() == before


def test_the_file_is_private(tmp_path: Path):
    Store(tmp_path).must_be_writable()
    assert stat.S_IMODE((tmp_path / "fleetops.db").stat().st_mode) == 0o600


def test_a_file_of_an_older_release_stays_readable_and_gets_new_rows(tmp_path: Path):
    """As the first release wrote it: no delays, no settings of the measurement."""
    with closing(sqlite3.connect(tmp_path / "fleetops.db")) as database, database:
        database.execute(
            "create table launches (node text not null, profile text not null, at real not null,"
            " run_id text not null, capacity text not null)"
        )
        old = (
            '{"device_tokens": 116171, "host_tokens": null, "host_pool_bytes": null, "ranks": 8,'
            ' "tokens_per_s": 850.0, "ready_s": 331.0, "available_after_bytes": null}'
        )
        database.execute("insert into launches values ('node-174', 'p', 1.0, 'old', ?)", (old,))
    store = Store(tmp_path)
    last = store.last_launch("node-174")
    assert last is not None
    assert (last.capacity.tokens_per_s, last.capacity.ttft_s, last.capacity.load) == (850.0, None, None)
    load = Load(concurrency=8, prompt_tokens=32, output_tokens=64, requests=24)
    measured = Capacity(tokens_per_s=912.0, ttft_s=0.04, itl_s=0.009, **asdict(load))
    store.record_launch(replace(last, run_id="new", at=2.0, capacity=measured))
    again = Store(tmp_path).last_launch("node-174")
    assert again is not None
    assert again.capacity == measured
    assert again.capacity.load == load


def test_a_row_of_a_newer_release_is_read_as_far_as_it_is_known(tmp_path: Path):
    store = Store(tmp_path)
    store.record_launch(launch("new", 2.0, 231120))
    with closing(sqlite3.connect(tmp_path / "fleetops.db")) as database, database:
        database.execute("""update launches set capacity = '{"device_tokens": 7, "of_the_future": [1]}'""")
    last = store.last_launch("node-174")
    assert last is not None
    assert last.capacity == Capacity(device_tokens=7)


def test_a_file_of_a_newer_release_is_read_and_never_written(tmp_path: Path):
    store = Store(tmp_path)
    store.record_launch(launch("new", 2.0, 231120))
    with closing(sqlite3.connect(tmp_path / "fleetops.db")) as database, database:
        database.execute("pragma user_version = 9000")
    assert store.last_launch("node-174") is not None
    with pytest.raises(FleetopsError, match="by a newer fleetops") as refused:
        store.record_launch(launch("newer", 3.0, 1))
    assert "another state folder" in refused.value.hint


def test_an_older_file_is_read_without_a_word_being_written(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "fleetops.db")) as database, database:
        database.execute("create table hosts (name text primary key, machine_id text, first_seen real)")
        database.execute("insert into hosts values ('node-174', 'a', 1.0)")
    before = (tmp_path / "fleetops.db").read_bytes()
    store = Store(tmp_path)
    assert (store.machine_id("node-174"), store.baselines()) == ("a", {})
    assert (tmp_path / "fleetops.db").read_bytes() == before
