"""The figures of a measurement, on samples whose answer can be worked out by hand."""

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetops.model.load import Attempt, Load, Trouble, TroubleKind, Usage
from fleetops.model.measure import Lengths, Measurement, Spread, quantile, spread


def answered(asked_at, *events, tokens=None, ended_at=None, prompt=10, cached=None):
    """A request answered whole: one token an event unless said otherwise."""
    count = len(events) if tokens is None else tokens
    return Attempt(
        asked_at=asked_at,
        ended_at=ended_at if ended_at is not None else events[-1],
        events=tuple(events),
        usage=Usage(prompt_tokens=prompt, output_tokens=count, cached_tokens=cached),
    )


def failed(asked_at, ended_at, kind=TroubleKind.BROKEN, *, message="broke", events=()):
    return Attempt(asked_at=asked_at, ended_at=ended_at, events=events, trouble=Trouble(kind, message))


def measured(*attempts, concurrency=1, requests=None, **more):
    load = Load(
        concurrency=concurrency, prompt_tokens=10, output_tokens=10, requests=requests or len(attempts)
    )
    return Measurement(load=load, attempts=attempts, **more)


class TestQuantiles:
    def test_known_values(self):
        values = [float(value) for value in range(1, 101)]
        assert spread(reversed(values)) == Spread(median=50.5, p99=pytest.approx(99.01))

    def test_of_one_value_it_is_that_value(self):
        assert spread([3.0]) == Spread(3.0, 3.0)

    def test_of_nothing_there_is_none(self):
        assert spread([]) is None

    @settings(deadline=None)
    @given(st.lists(st.floats(-1e6, 1e6), min_size=2))
    def test_they_agree_with_the_standard_librarys(self, values):
        hundred = statistics.quantiles(values, n=100, method="inclusive")
        assert quantile(sorted(values), 0.99) == pytest.approx(hundred[98], abs=1e-6)
        assert quantile(sorted(values), 0.5) == pytest.approx(statistics.median(values), abs=1e-6)

    @settings(deadline=None)
    @given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
    def test_they_never_leave_the_values(self, values, share):
        found = quantile(sorted(values), share)
        assert min(values) * 0.999999 <= found <= max(values) * 1.000001


class TestDelays:
    def test_the_first_token_is_counted_from_asking(self):
        found = measured(answered(100.0, 100.5, 101.0), answered(200.0, 200.7, 201.0))
        assert found.first_token_s.median == pytest.approx(0.6)

    def test_between_tokens_is_the_gap_between_events(self):
        found = measured(answered(0.0, 1.0, 1.1, 1.3))
        assert found.between_tokens_s.median == pytest.approx(0.15)

    def test_an_event_of_several_tokens_is_shared_among_them(self):
        """Four events, thirteen tokens: four in each but the first."""
        found = measured(answered(0.0, 1.0, 1.4, 1.8, 2.2, tokens=13))
        assert found.between_tokens_s.median == pytest.approx(0.1)
        assert found.tokens_per_event == pytest.approx(13 / 4)
        assert found.tokens_per_s_per_stream == pytest.approx(10.0)

    def test_one_token_has_no_next_one(self):
        found = measured(answered(0.0, 1.0))
        assert found.between_tokens_s is None
        assert found.tokens_per_s_per_stream is None
        assert found.first_token_s == Spread(1.0, 1.0)

    def test_requests_that_failed_are_no_part_of_them(self):
        found = measured(answered(0.0, 1.0, 1.1), failed(0.0, 9.0, events=(8.0, 9.0)))
        assert found.first_token_s == Spread(1.0, 1.0)
        assert found.between_tokens_s.p99 == pytest.approx(0.1)


class TestRate:
    def test_one_stream_from_its_first_token_to_its_last(self):
        """Ten tokens after the first, in one second."""
        times = [1.0 + step / 10 for step in range(11)]
        found = measured(answered(0.0, *times))
        assert found.steady.length_s == pytest.approx(1.0)
        assert found.tokens_per_s == pytest.approx(10.0)

    def test_only_the_time_in_which_all_streams_give_tokens_counts(self):
        """One stream from 1 to 5, the other from 2 to 4, a token every tenth of a second each: twenty a second."""
        one = answered(0.0, *(1.0 + step / 10 for step in range(41)))
        other = answered(0.0, *(2.0 + step / 10 for step in range(21)))
        found = measured(one, other, concurrency=2)
        assert (found.steady.begin, found.steady.end) == (2.0, pytest.approx(4.0))
        assert found.tokens_per_s == pytest.approx(20.0, rel=0.06)
        assert found.wall_s == pytest.approx(5.0)

    def test_it_ends_where_no_further_request_takes_a_place(self):
        """Three requests over two streams: when the second ends, at 3, one stream is left."""
        found = measured(
            answered(0.0, 1.0, 2.0), answered(0.0, 1.0, 3.0), answered(2.0, 2.5, 9.0), concurrency=2
        )
        assert (found.steady.begin, found.steady.end) == (1.0, 3.0)

    def test_without_a_steady_state_it_is_over_the_whole_run(self):
        """The second stream begins when the first has ended."""
        found = measured(answered(0.0, 1.0, 2.0), answered(0.0, 3.0, 4.0), concurrency=2)
        assert found.steady is None
        assert found.tokens_per_s == pytest.approx(4 / 4.0)

    def test_tokens_are_what_the_service_counted_not_events(self):
        times = [1.0 + step / 10 for step in range(11)]
        assert measured(answered(0.0, *times, tokens=55)).tokens_per_s == pytest.approx(50.0)

    def test_an_answer_in_one_piece_is_spread_over_its_time(self):
        piece = Attempt(asked_at=0.0, ended_at=2.0, usage=Usage(prompt_tokens=1, output_tokens=20))
        found = measured(piece)
        assert found.tokens_per_s == pytest.approx(10.0)
        assert (found.first_token_s, found.between_tokens_s, found.not_streamed) == (None, None, 1)

    def test_what_was_under_way_at_an_interruption_counts_by_its_events(self):
        times = [1.0 + step / 10 for step in range(11)]
        cut = Attempt(asked_at=0.0, ended_at=2.0, events=tuple(times))
        found = measured(answered(0.0, *times, tokens=22), cut, concurrency=2, requests=9, interrupted=True)
        assert found.tokens_per_s == pytest.approx(40.0)
        assert len(found.whole) == 1
        assert found.errors == ()

    def test_where_nothing_was_answered_there_is_no_rate(self):
        found = measured(failed(0.0, 1.0, events=(0.5,)))
        assert found.tokens_per_s is None
        assert found.first_token_s is None
        assert found.prompt_lengths is None

    @settings(deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.floats(0, 100), st.lists(st.floats(0, 10), min_size=1, max_size=5), st.integers(1, 99)
            ),
            min_size=1,
            max_size=8,
        ),
        st.integers(1, 8),
    )
    def test_it_is_never_more_than_all_tokens_in_the_time_it_is_about(self, made, concurrency):
        attempts = []
        for asked_at, gaps, tokens in made:
            events = [asked_at + sum(gaps[: place + 1]) for place in range(len(gaps))]
            attempts.append(answered(asked_at, *events, tokens=tokens))
        found = measured(*attempts, concurrency=concurrency)
        if found.tokens_per_s is not None:
            most = sum(one.usage.output_tokens for one in attempts) / found.window.length_s
            assert 0 <= found.tokens_per_s <= most * 1.000001


class TestErrors:
    def test_they_are_counted_by_kind_with_the_first_message(self):
        found = measured(
            failed(0.0, 1.0, TroubleKind.DEADLINE, message="late"),
            failed(0.0, 1.0, TroubleKind.STATUS, message="503: full"),
            failed(0.0, 1.0, TroubleKind.STATUS, message="500: other"),
        )
        assert [(one.kind, one.count, one.message) for one in found.errors] == [
            (TroubleKind.STATUS, 2, "503: full"),
            (TroubleKind.DEADLINE, 1, "late"),
        ]

    def test_a_failed_warm_up_is_one_too_but_no_part_of_the_figures(self):
        found = measured(answered(10.0, 11.0, 12.0), warm_ups=(failed(0.0, 1.0),))
        assert [one.count for one in found.errors] == [1]
        assert found.wall_s == pytest.approx(2.0)

    def test_what_was_never_begun_takes_no_time(self):
        late = failed(99.0, 99.0, TroubleKind.NOT_BEGUN)
        assert measured(answered(0.0, 1.0, 2.0), late).wall_s == pytest.approx(2.0)
        assert measured(late).wall_s == 0.0


def test_lengths_are_those_that_the_service_counted():
    found = measured(answered(0.0, 1.0, prompt=9), answered(0.0, 1.0, prompt=11, tokens=4))
    assert found.prompt_lengths == Lengths(median=10.0, shortest=9, longest=11)
    assert found.output_lengths == Lengths(median=2.5, shortest=1, longest=4)


def test_cached_tokens_are_added_up_and_unknown_where_nobody_tells():
    assert measured(answered(0.0, 1.0, cached=4), answered(0.0, 1.0, cached=5)).cached_tokens == 9
    assert measured(answered(0.0, 1.0)).cached_tokens is None


def test_a_machine_that_is_busy_reading_says_so():
    assert measured(answered(0.0, 10.0), cpu_s=9.0).was_held_back
    assert not measured(answered(0.0, 10.0), cpu_s=2.0).was_held_back


def test_tokens_that_arrive_in_bunches_say_so_too():
    found = measured(answered(0.0, 1.0, 1.0, 1.0, 1.1, 1.1))
    assert found.bunched == pytest.approx(3 / 4)
    assert found.was_held_back
    assert measured(answered(0.0, 1.0, 1.1, 1.2)).bunched == 0
