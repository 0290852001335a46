"""Rounds: everybody once in each, in turning order, within a budget."""

from bench.model import Sample
from bench.rounds import Entry, interleave, rotated


class Clock:
    """Seconds that pass only when a run takes them."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def runners(names, clock, log, takes_s=1.0):
    def entry(name):
        def run(left_s):
            log.append((name, left_s))
            clock.now += takes_s
            return Sample(wall_s=takes_s, cpu_s=0.0)

        return Entry(name=name, run=run)

    return [entry(name) for name in names]


def test_the_order_turns():
    entries = runners("abc", Clock(), [])
    assert ["".join(entry.name for entry in rotated(entries, by)) for by in range(4)] == [
        "abc",
        "bca",
        "cab",
        "abc",
    ]


def test_everybody_runs_once_in_each_round():
    clock, log = Clock(), []
    rows = interleave(runners("abc", clock, log), 3, budget_s=100, clock=clock)
    assert [name for name, _ in log] == list("abcbcacab")
    assert [row.name for row in rows] == list("abc")
    assert all(list(row.samples) == [0, 1, 2] for row in rows)


def test_a_round_that_would_not_end_in_time_is_not_begun():
    clock, log, told = Clock(), [], []
    rows = interleave(runners("ab", clock, log), 5, budget_s=5, clock=clock, tell=told.append)
    assert [len(row.samples) for row in rows] == [2, 2]
    assert told[-1] == "the time is up after 2 of 5 rounds"


def test_a_run_is_told_how_much_time_is_left():
    clock, log = Clock(), []
    interleave(runners("ab", clock, log, takes_s=3.0), 1, budget_s=10, clock=clock)
    assert log == [("a", 10), ("b", 7.0)]


def test_one_for_whom_no_time_is_left_is_shown_as_such():
    clock, log = Clock(), []
    rows = interleave(runners("ab", clock, log, takes_s=10.0), 1, budget_s=10, clock=clock)
    assert [row.wrong for row in rows] == ["", "not run: no time left for it"]
