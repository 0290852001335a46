"""A fleet in which everything that can be wrong with an answer is: the others are complete, and nobody waits for it."""

import socket
import threading
import time

import pytest
from hostile_server import ADDRESS, Call, says, truly_but

from fleetops.model.finding import Severity
from fleetops.render.sweep import sweep_screen

DEADLINE_S = 8.0
WELL = truly_but(lambda text: text)


def slowly(call: Call) -> None:
    time.sleep(2)
    WELL(call)


def never(call: Call) -> None:
    call.begin()
    threading.Event().wait(60)


@pytest.fixture
def closed_port():
    with socket.create_server((ADDRESS, 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def fleet(fleet_of, closed_port):
    return fleet_of(
        well=WELL, down=closed_port, garbage=says(b"\x00\xff\x1b[2Jgarbage\n"), slow=slowly, hung=never
    )


def by_check(sweep, host):
    return {one.finding.check: one.finding for one in sweep.tracked if one.finding.host == host}


def test_the_whole_ends_within_the_deadline_and_a_second_and_the_others_are_complete(fleet, sweeper):
    began = time.monotonic()
    sweep = sweeper(fleet, deadline_s=DEADLINE_S).once()
    assert time.monotonic() - began < DEADLINE_S + 1
    hosts = {host.name: host for host in sweep.hosts}
    assert list(hosts) == ["well", "down", "garbage", "slow", "hung"]
    for name in ("well", "slow"):
        assert not {"identity", "memory", "processes"} & set(hosts[name].gaps), hosts[name].gaps
        assert hosts[name].remembered.numbers["mem-available-bytes"] > 0
    assert hosts["slow"].seconds > 2
    assert by_check(sweep, "down")["unreachable"].severity is Severity.UNKNOWN
    assert f"not finished within {DEADLINE_S:g} s" in by_check(sweep, "hung")["unreachable"].evidence
    garbage = by_check(sweep, "garbage")
    assert garbage
    assert {one.severity for one in garbage.values()} == {Severity.UNKNOWN}
    assert "\x1b" not in sweep_screen(sweep, 120).plain


def test_a_host_that_still_hangs_is_not_asked_a_second_time_beside_that(fleet_of, sweeper):
    asked = []

    def noting(call: Call) -> None:
        asked.append(call)
        never(call)

    again = sweeper(fleet_of(hung=noting), deadline_s=1.0)
    first = threading.active_count()
    for _ in range(4):
        sweep = again.once()
    assert len(asked) == 1
    assert "has not answered the last sweep yet" in by_check(sweep, "hung")["unreachable"].evidence
    assert threading.active_count() <= first + 3


def test_what_is_wrong_is_followed_from_one_sweep_to_the_next(fleet_of, sweeper, closed_port):
    again = sweeper(fleet_of(down=closed_port), deadline_s=DEADLINE_S)
    first, second = again.once(), again.once()
    assert (first.number, second.number) == (1, 2)
    assert [(one.count, one.firm) for one in (*first.tracked, *second.tracked)] == [(1, False), (2, True)]


def test_where_nothing_can_be_remembered_the_sweep_is_told_all_the_same(fleet_of, sweeper, tmp_path):
    told = []
    again = sweeper(fleet_of(well=WELL), deadline_s=DEADLINE_S, tell=told.append)
    (tmp_path / "state/fleetops.db").write_bytes(b"no database at all, whatever it is called" * 100)
    sweep = again.once()
    assert sweep.hosts[0].remembered.numbers["mem-available-bytes"] > 0
    assert sweep.number == 0
    assert any("cannot be written" in one for one in told)


def test_sweeps_are_begun_on_the_beat_and_one_that_takes_longer_leaves_beats_out(fleet_of, sweeper):
    again = sweeper(fleet_of(slow=slowly), deadline_s=DEADLINE_S)
    waits = []
    sweeps = again.every(1.5, wait=waits.append)
    next(sweeps)
    next(sweeps)
    sweeps.close()
    assert 0 < waits[0] < 1.5
