"""Memory that runs out between sweeps: what falls is told, what a launch takes and what has settled is not."""

from dataclasses import replace

import pytest
from machine_scenes import NOW, UP_S, series, swept
from node_scenes import memory, profile, service_processes

from fleetops.checks.host.memory_falling import CHECK
from fleetops.model.finding import Severity
from fleetops.model.machine import MEMORY
from fleetops.model.past import Past, Sample
from fleetops.model.units import GB


def judged(now_gb, past, *processes):
    return CHECK.judge(swept(*processes, facts={MEMORY: memory(now_gb)}, past=past))


def test_memory_that_falls_and_reaches_the_floor_within_three_sweeps_is_a_warning():
    (finding,) = judged(70, series(150, 110, 90), *service_processes())
    assert finding.severity is Severity.WARNING
    assert finding.subject == "memory falling"
    assert finding.evidence == (
        "150 GB were available 15 min ago, 70 GB are now; at 4 GB a minute the floor of 16 GB is reached in 13 min,"
        " and a sweep comes every 5 min"
    )
    assert finding.next == "fleetops probe node-174"


def test_memory_that_is_gone_before_the_next_sweep_is_critical():
    (finding,) = judged(50, series(200, 150, 100), *service_processes())
    assert finding.severity is Severity.CRITICAL
    assert "at 10 GB a minute the floor of 16 GB is reached in 3 min 24 s" in finding.evidence


def test_the_floor_is_the_profiles_own():
    seen = swept(facts={MEMORY: memory(70)}, past=series(90, 80), profile=profile())
    assert CHECK.judge(seen) == []
    high = replace(profile().host_memory, floor_bytes=50 * GB)
    (finding,) = CHECK.judge(replace(seen, profile=profile(host_memory=high)))
    assert "the floor of 50 GB" in finding.evidence


@pytest.mark.parametrize(
    ("now_gb", "before"),
    [
        (445, (445, 445)),
        (52, (445, 445, 52)),
        (52, (445, 445, 52, 52)),
        (60, (445, 52)),
        (51.9, (54, 52, 53)),
        (100, (103, 102, 101)),
        (90, (50, 60, 70)),
    ],
    ids=["still", "one step", "one step, long ago", "rises again", "hovers", "falls slowly", "rises"],
)
def test_what_does_not_keep_falling_is_let_pass(now_gb, before):
    assert judged(now_gb, series(*before)) == []


@pytest.mark.parametrize("before", [(), (100,)])
def test_two_sweeps_are_not_enough(before):
    assert judged(50, series(*before)) == []


def test_below_the_floor_another_check_tells():
    assert judged(12, series(80, 40)) == []


def started(ago_s):
    """A service whose launcher is so old."""
    return service_processes(start_ticks=round((UP_S - ago_s) * 100))


@pytest.mark.parametrize("age_s", [60, 600, 899])
def test_a_service_that_loads_explains_it(age_s):
    assert judged(50, series(445, 300, 150), *started(age_s)) == []


def test_what_was_sampled_while_it_loaded_does_not_count():
    """Ready after 900 s at the latest: of the samples 15, 10 and 5 minutes ago only the last is of afterwards."""
    assert judged(50, series(445, 300, 150), *started(1300)) == []
    (finding,) = judged(50, series(445, 300, 150), *started(3000))
    assert finding.severity is Severity.CRITICAL


def test_how_far_apart_sweeps_are_is_seen_from_the_samples_where_it_is_not_known():
    past = replace(series(200, 150, 100, every_s=60), every_s=None)
    (finding,) = judged(50, past)
    assert "a sweep comes every 1 min" in finding.evidence


def test_samples_at_one_time_are_no_fall():
    at = NOW - 300
    past = Past(series={"mem-available-bytes": (Sample(at=at, value=90 * GB), Sample(at=at, value=80 * GB))})
    assert judged(79, past) == []
