"""Medians, ratios within rounds, and what a row says of its samples."""

import pytest

from bench.model import PieceResult, Row, Sample
from bench.summary import median, paired_difference, paired_ratio


@pytest.mark.parametrize(
    ("values", "middle"),
    [([3.0], 3.0), ([3.0, 1.0, 2.0], 2.0), ([4.0, 1.0, 2.0, 9.0], 3.0), ([1.0, 1.0], 1.0)],
)
def test_the_median_is_the_middle_one(values, middle):
    assert median(values) == middle


def test_no_values_have_no_median():
    with pytest.raises(ValueError, match="no median"):
        median([])


def test_a_round_that_was_slow_for_everybody_drops_out_of_a_ratio():
    ours = {0: 1.0, 1: 10.0, 2: 1.0}
    theirs = {0: 2.0, 1: 20.0, 2: 2.0}
    assert paired_ratio(ours, theirs) == 0.5


def test_a_ratio_takes_only_rounds_that_both_have():
    assert paired_ratio({0: 9.0, 1: 3.0}, {1: 1.0, 2: 9.0}) == 3.0
    assert paired_ratio({0: 1.0}, {1: 1.0}) is None
    assert paired_ratio({0: 1.0}, {0: 0.0}) is None


def test_a_difference_is_of_the_same_round():
    assert paired_difference({0: 3.0, 1: 9.0, 2: 4.0}, {0: 1.0, 1: 1.0, 2: 1.0}) == 3.0
    assert paired_difference({0: 3.0}, {}) is None


def test_figures_of_a_sample_by_their_names():
    sample = Sample(
        wall_s=2.0,
        cpu_s=1.0,
        hosts=10,
        answered=10,
        peak_bytes=5_000_000,
        node_cpu_s=0.5,
        more={"rest_s": 1.5},
    )
    asked = ("wall_s", "cpu_ms_host", "peak_mb", "node_cpu_ms_host", "busy_cores", "rest_s", "unheard_of")
    assert [sample.value(name) for name in asked] == [2.0, 100.0, 5.0, 50.0, 0.5, 1.5, None]


def test_what_was_not_seen_is_no_zero():
    sample = Sample(wall_s=0.01, cpu_s=0.01)
    assert sample.value("peak_mb") is None
    assert sample.value("node_cpu_ms_host") is None


def test_a_row_has_the_median_of_its_rounds():
    row = Row(name="a", samples={n: Sample(wall_s=s, cpu_s=0.0) for n, s in enumerate((3.0, 1.0, 2.0))})
    assert row.median("wall_s") == 2.0


def test_a_contestant_that_missed_hosts_is_not_timed():
    good, bad = (Sample(wall_s=1.0, cpu_s=1.0, hosts=64, answered=n) for n in (64, 61))
    row = Row(name="a", samples={0: good, 1: bad})
    assert row.median("wall_s") is None
    assert row.wrong == "failed in 1 of 2 rounds: 3 of 64 hosts gave no right answer"


def test_one_that_is_not_installed_says_how_to_get_it():
    row = Row(name="pssh", install="apt-get install pssh")
    assert row.wrong == "not installed: apt-get install pssh"
    assert row.median("wall_s") is None


def test_one_that_no_time_was_left_for_says_so():
    assert Row(name="a").wrong == "not run: no time left for it"


def test_a_result_survives_its_json():
    sample = Sample(wall_s=1.0, cpu_s=2.0, more={"rest_s": 3.0})
    rows = (Row(name="a", version="1", samples={0: sample, 3: sample}), Row(name="b", install="x"))
    result = PieceResult(
        name="cold-16", title="t", columns=("wall_s",), rows=rows, notes=("n",), machine={"cores": 2}
    )
    assert PieceResult.from_json(result.as_json()) == result
