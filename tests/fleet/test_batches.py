"""Batches: a few hosts after the other, a pause between them, and a stop where too many have failed."""

import pytest

from fleetops.fleet import batches
from fleetops.fleet.batches import Batches, run_in_batches
from fleetops.model.command import Outcome
from fleetops.model.errors import Refused, Unreachable
from fleetops.model.fleet import Node
from fleetops.model.run import RunReport

HOSTS = [Node(name=f"node-{number}", address="192.0.2.1") for number in range(1, 8)]


class Fleet:
    """Runs nothing, and notes for whom it was asked."""

    def __init__(self, *, failing=(), silent=()):
        self.asked = []
        self.failing, self.silent = set(failing), set(silent)

    def run(self, hosts):
        names = [host.name for host in hosts]
        self.asked.append(names)
        return RunReport(
            outcomes=tuple(
                (name, Outcome(status=int(name in self.failing))) for name in names if name not in self.silent
            ),
            failures=tuple(
                (name, Unreachable(f"{name}: no answer", host=name)) for name in names if name in self.silent
            ),
        )


def test_all_at_once_is_one_batch():
    fleet = Fleet(failing=["node-1"])
    report = run_in_batches(HOSTS, Batches(), fleet.run)
    assert len(fleet.asked) == 1
    assert [host for host, _ in report.outcomes] == [host.name for host in HOSTS]
    assert report.failures == ()


def test_each_batch_begins_when_the_one_before_has_ended():
    fleet = Fleet()
    report = run_in_batches(HOSTS, Batches(size=3), fleet.run)
    assert [len(names) for names in fleet.asked] == [3, 3, 1]
    assert [host for host, _ in report.outcomes] == [host.name for host in HOSTS]


@pytest.mark.parametrize(
    ("failing", "silent", "most", "asked"),
    [
        (["node-2"], [], 0, 1),
        ([], ["node-2"], 0, 1),
        (["node-2"], [], 1, 3),
        (["node-1", "node-5"], [], 1, 2),
        (["node-1"], ["node-2", "node-4"], 2, 2),
    ],
)
def test_no_further_batch_begins_once_too_many_have_failed(failing, silent, most, asked):
    fleet = Fleet(failing=failing, silent=silent)
    report = run_in_batches(HOSTS, Batches(size=3, max_failures=most), fleet.run)
    assert len(fleet.asked) == asked
    begun = {name for names in fleet.asked for name in names}
    left = {host: error for host, error in report.failures if isinstance(error, Refused)}
    assert set(left) == {host.name for host in HOSTS} - begun
    assert all(f"stopped after batch {asked} of 3" in error.message for error in left.values())


def test_the_last_batch_leaves_nobody_out():
    report = run_in_batches(HOSTS, Batches(size=3), Fleet(failing=["node-7"]).run)
    assert (len(report.outcomes), report.failures) == (7, ())


def test_a_pause_is_between_batches_and_told(monkeypatch):
    clock, told = [100.0], []
    monkeypatch.setattr(batches.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(batches.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    fleet = Fleet()
    run_in_batches(
        HOSTS,
        Batches(size=4, pause_s=1.0, on_pause=lambda number, left: told.append((number, left))),
        fleet.run,
    )
    assert clock[0] == pytest.approx(101.0)
    assert told[0] == (2, 1.0)
    assert {number for number, _ in told} == {2}


def test_nobody_is_no_batch():
    assert run_in_batches([], Batches(size=3), Fleet().run) == RunReport(outcomes=(), failures=())


def test_no_further_batch_begins_once_the_deadline_is_over(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(batches.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(batches.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    fleet = Fleet()
    report = run_in_batches(HOSTS, Batches(size=3, pause_s=10.0, ends_at=102.0), fleet.run)
    assert clock[0] == pytest.approx(102.0)
    assert len(fleet.asked) == 1
    assert {error.message for _, error in report.failures} == {
        "not started: stopped after batch 1 of 3: the deadline was over"
    }
