"""Many sweeps in little space: what may be left out, and what never is."""

import pytest

from fleetops.fleet.over_time import bands, cell_width, spells, thinned
from fleetops.model.finding import Severity
from fleetops.model.page import Band
from fleetops.model.past import Sample

OK, WARNING, CRITICAL, UNKNOWN = Severity.OK, Severity.WARNING, Severity.CRITICAL, Severity.UNKNOWN


def series(*values, every=60.0):
    return [Sample(at=place * every, value=value) for place, value in enumerate(values) if value is not None]


@pytest.mark.parametrize(
    ("span", "most", "width"),
    [
        (3600, 336, 60),
        (86_400, 336, 300),
        (7 * 86_400, 336, 1800),
        (7 * 86_400, 84, 7200),
        (90 * 86_400, 84, 172_800),
    ],
)
def test_cells_are_round_and_not_too_many(span, most, width):
    assert cell_width(span, most) == width
    assert span / width <= most


def test_a_band_is_the_worst_of_its_cells_and_a_gap_is_none():
    health = [
        (0, OK),
        (5, OK),
        (10, WARNING),
        (12, CRITICAL),
        (14, UNKNOWN),
        (20, UNKNOWN),
        (22, WARNING),
        (40, OK),
    ]
    assert bands(health, 0, 10, 5) == (
        Band(first=0, cells=1, severity=OK),
        Band(first=1, cells=1, severity=CRITICAL),
        Band(first=2, cells=1, severity=UNKNOWN),
        Band(first=3, cells=1, severity=None),
        Band(first=4, cells=1, severity=OK),
    )


def test_alike_neighbours_are_one_band():
    assert bands([(0, OK), (10, OK), (20, OK)], 0, 10, 3) == (Band(first=0, cells=3, severity=OK),)


def test_a_sweep_of_this_very_moment_falls_into_the_last_cell():
    assert bands([(30, CRITICAL)], 0, 10, 3)[-1] == Band(first=2, cells=1, severity=CRITICAL)


def test_spells_are_those_that_were_not_well_the_latest_first():
    health = [
        (0, OK),
        (60, CRITICAL),
        (120, CRITICAL),
        (180, WARNING),
        (240, OK),
        (300, UNKNOWN),
        (360, UNKNOWN),
    ]
    told = [(one.severity, one.since, one.until, one.sweeps, one.lasts) for one in spells(health)]
    assert told == [
        (UNKNOWN, 300, 360, 2, True),
        (WARNING, 180, 240, 1, False),
        (CRITICAL, 60, 180, 2, False),
    ]
    assert spells([]) == ()


def test_no_peak_and_no_dip_is_lost():
    values = [100.0] * 50
    values[17], values[31] = 3.0, 400.0
    points = thinned(series(*values), 0, 600)
    assert {3.0, 400.0} <= {value for _, value in points}
    assert len(points) <= 2 * 5
    assert [at for at, _ in points] == sorted(at for at, _ in points)


def test_a_gap_stays_a_gap():
    points = thinned(series(1, 2, *[None] * 20, 3, 4), 0, 60)
    assert [value for _, value in points] == [1, 2, None, 3, 4]


def test_one_missed_sweep_is_no_gap():
    assert None not in [value for _, value in thinned(series(1, 2, None, 3, 4), 0, 60)]


def test_nothing_and_little():
    assert thinned([], 0, 60) == ()
    assert thinned(series(5), 0, 60) == ((0, 5),)
