"""Numbers over time, drawn with blocks."""

from fleetops.model.past import Sample
from fleetops.render.chart import chart, spark


def samples(*values, step=60.0):
    return [Sample(at=1_800_000_000 + step * number, value=value) for number, value in enumerate(values)]


def test_a_line_goes_from_the_least_to_the_most():
    assert spark(samples(0, 1, 2, 3, 4, 5, 6, 7), 8) == "▁▂▃▄▅▆▇█"


def test_what_does_not_change_is_a_flat_line():
    assert spark(samples(5, 5, 5), 10) == "▁▁▁"


def test_of_nothing_there_is_no_line():
    assert spark([], 10) == ""


def test_more_samples_than_columns_are_means_of_their_stretch():
    assert len(spark(samples(*range(1000)), 24)) == 24


def test_a_stretch_without_samples_is_blank():
    apart = [*samples(*[1.0] * 20), *(Sample(at=1_800_000_000 + 6000 + n, value=1.0) for n in range(20))]
    assert " " in spark(apart, 20)


def test_a_chart_has_its_scale_and_its_times():
    rows = chart(samples(0, 50, 100), 40, 4, lambda value: f"{value:g} GB")
    assert rows[0].startswith("100 GB ┤")
    assert rows[3].startswith("  0 GB ┤")
    assert rows[0].endswith("█")
    assert len(rows) == 5
    assert "2027-01-1" in rows[4]


def test_a_chart_of_one_value_is_drawn():
    assert chart(samples(7), 40, 3, str)
    assert chart(samples(0, 0), 40, 3, str)


def test_what_varies_little_and_far_above_nothing_is_not_drawn_from_nothing():
    rows = chart(samples(440, 445), 40, 3, lambda value: f"{value:g}")
    assert rows[2].lstrip().startswith("440 ┤")
