"""What sweeps remember, in the real file: nothing lost, nothing half, nothing for ever."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fleetops.model.finding import Finding, Severity
from fleetops.model.past import Remembered, Sample
from fleetops.model.sweep import HostSweep, Sweep, Tracked
from fleetops.store.sweeps import CLEARED_S, SAMPLES_S, SweepStore

HOUR = 3600.0
NOW = 1_000_000_000.0
FOUND = Finding(
    host="node-174",
    check="memory-low",
    severity=Severity.CRITICAL,
    subject="memory low",
    evidence="9 GB",
    next="fleetops probe node-174",
)
TRACKED = Tracked(finding=FOUND, first_seen=NOW, last_seen=NOW, sightings="1")


def swept(at=NOW, *, findings=(), numbers=None, words=None):
    host = HostSweep(
        name="node-174",
        kind="node",
        at=at,
        seconds=1,
        findings=tuple(findings),
        remembered=Remembered(numbers=numbers or {}, words=words or {}),
    )
    return Sweep(at=at, seconds=1.5, hosts=(host,))


@pytest.fixture
def store(tmp_path):
    return SweepStore(tmp_path)


def test_before_the_first_sweep_there_is_no_past(store):
    past = store.pasts(["node-174"], NOW)["node-174"]
    assert (past.swept_at, dict(past.words), dict(past.series), past.every_s) == (None, {}, {}, None)
    assert store.tracked(NOW) == ()


def test_the_next_sweep_finds_words_as_they_last_were_and_numbers_in_order(store):
    for number in range(3):
        at = NOW + 300 * number
        store.record(swept(at, numbers={"mem-available-bytes": number}, words={"boot-id": f"b{number}"}), [])
    past = store.pasts(["node-174"], NOW + 900)["node-174"]
    assert past.swept_at == NOW + 600
    assert past.words == {"boot-id": "b2"}
    assert past.series["mem-available-bytes"] == tuple(Sample(at=NOW + 300 * n, value=n) for n in range(3))
    assert past.last("mem-available-bytes") == 2
    assert past.every_s == 300


def test_a_word_that_a_sweep_could_not_read_stays_as_it_was(store):
    store.record(swept(NOW, words={"boot-id": "one"}), [])
    store.record(swept(NOW + 60), [])
    assert store.pasts(["node-174"], NOW + 60)["node-174"].words == {"boot-id": "one"}


def test_a_finding_comes_back_as_it_was_kept(store):
    one = replace(TRACKED, count=7, firm=True, sightings="10?1", cleared_at=NOW + 5)
    store.record(swept(), [one])
    assert store.tracked(NOW) == (one,)


def test_an_acknowledgement_ends_with_what_it_is_of(store):
    store.record(swept(), [TRACKED])
    store.acknowledge("node-174", "memory-low", at=NOW, who="ada", why="on it")
    assert store.tracked(NOW)[0].acknowledged == "ada: on it"
    store.record(swept(NOW + 60), [replace(TRACKED, cleared_at=NOW + 60)])
    store.record(swept(NOW + 120), [TRACKED])
    assert store.tracked(NOW)[0].acknowledged == ""


def test_a_silence_is_over_when_its_time_is(store):
    store.record(swept(), [TRACKED])
    store.silence("node-174", "memory-low", until=NOW + HOUR, at=NOW, who="ada", why="drill")
    assert store.tracked(NOW)[0].silenced_until == NOW + HOUR
    assert store.tracked(NOW + HOUR)[0].silenced_until == 0
    assert [one.who for one in store.silences(NOW)] == ["ada"]
    assert store.silences(NOW + HOUR) == ()


def test_what_is_too_old_goes(store):
    gone = replace(TRACKED, cleared_at=NOW)
    store.record(swept(NOW, numbers={"mem-available-bytes": 1}), [gone])
    later = NOW + max(SAMPLES_S, CLEARED_S) + 1
    store.record(swept(later), [])
    assert store.samples("node-174", since=0) == {}
    assert store.tracked(later) == ()
    assert [at for at, _ in store.health("node-174", since=0)] == [later]


def test_a_reader_is_not_kept_waiting_by_a_writer(store, tmp_path):
    store.record(swept(), [TRACKED])
    writer = sqlite3.connect(tmp_path / "fleetops.db", isolation_level=None)
    writer.execute("begin immediate")
    writer.execute("delete from findings")
    try:
        assert len(store.tracked(NOW)) == 1
    finally:
        writer.execute("rollback")
        writer.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_read_all_the_same(store, tmp_path):
    store.record(swept(), [TRACKED])
    tmp_path.chmod(0o500)
    try:
        assert len(store.tracked(NOW)) == 1
    finally:
        tmp_path.chmod(0o700)


RECORD_FOR_EVER = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from test_sweep_store import swept, TRACKED
from fleetops.store.sweeps import SweepStore
store, at = SweepStore(Path(sys.argv[1])), 1_000_000_000.0
print("ready", flush=True)
while True:
    at += 60
    numbers = {{f"fact-{{n}}-count": at for n in range(200)}}
    store.record(swept(at, numbers=numbers), [TRACKED])
"""


def test_killed_while_it_writes_it_leaves_whole_sweeps_and_no_other(tmp_path):
    code = RECORD_FOR_EVER.format(tests=str(Path(__file__).parent))
    for pause_s in (0.02, 0.11, 0.23, 0.31):
        argv = [sys.executable, "-c", code, str(tmp_path)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
            time.sleep(pause_s)
            writer.send_signal(signal.SIGKILL)
    store = SweepStore(tmp_path)
    times = [at for at, _ in store.health("node-174", since=0)]
    series = store.samples("node-174", since=0)
    assert times
    assert len(series) == 200
    assert all([one.at for one in samples] == times for samples in series.values())
    with closing(sqlite3.connect(tmp_path / "fleetops.db")) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
