"""Sizes and durations carry their unit, and are exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.inventory.quantity import parse_duration, parse_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("40 GB", 40 * 10**9), ("16GiB", 16 * 2**30), ("1.5 TB", 15 * 10**11), ("0 B", 0), ("0.1 KB", 100)],
)
def test_a_size_is_a_number_of_bytes(text, size_bytes):
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text", ["40", "40 gb", "40 G", "-1 GB", "1e3 GB", "GB", "40  GB", "0.0001 KB", "٤٠ GB", ""]
)
def test_a_size_without_an_exact_unit_is_refused(text):
    with pytest.raises(ValueError, match=r"not a"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("15m", 900),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1d2h3m4s", 93_784),
        ("0.5s", 0.5),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_number_of_seconds(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["15", "15 m", "30m1h", "1.5h", "-1s", "m", "", "15min"])
def test_a_duration_without_units_in_order_is_refused(text):
    with pytest.raises(ValueError, match="not a duration like"):
        parse_duration(text)


@given(st.integers(0, 10**15))
def test_a_size_that_is_shown_reads_back_exactly(size_bytes):
    assert parse_size(show_size(size_bytes)) == size_bytes


@given(st.integers(0, 10**8))
def test_a_duration_that_is_shown_reads_back_exactly(seconds):
    assert parse_duration(show_duration(seconds)) == seconds


def test_round_sizes_are_shown_in_the_unit_they_are_round_in():
    assert [show_size(size) for size in (40 * 10**9, 16 * 2**30, 1_500_000)] == ["40 GB", "16 GiB", "1500 KB"]
