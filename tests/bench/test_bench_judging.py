"""What holds, by how much it is missed, and what cannot be judged."""

import pytest

from bench.judging import Target, judge
from bench.model import PieceResult, Row, Sample
from bench.pieces import PIECES
from bench.tables import summary
from bench.targets import TARGETS


def row(name, *walls, hosts=1, answered=None, install=""):
    samples = {
        number: Sample(wall_s=wall, cpu_s=wall, hosts=hosts, answered=hosts if answered is None else answered)
        for number, wall in enumerate(walls)
    }
    return Row(name=name, samples=samples, install=install)


def result(*rows, **more):
    return PieceResult(name="cold", title="t", columns=("wall_s",), rows=rows, **more)


def verdict(found, **target):
    given = {"what": "w", "pieces": ("cold",), "row": "ours", "against": ("theirs",), "limit": 1.0}
    (one,) = judge([Target(**{**given, **target})], {"cold": found})
    return one


@pytest.mark.parametrize(
    ("ours", "limit", "words"),
    [(0.9, 1.0, "holds"), (1.0, 1.0, "holds"), (1.1, 1.0, "missed by 10%"), (0.5, 1 / 3, "missed by 50%")],
)
def test_a_ratio(ours, limit, words):
    assert verdict(result(row("ours", ours), row("theirs", 1.0)), limit=limit).words == words


def test_a_difference_is_missed_by_seconds():
    found = result(row("ours", 0.75), row("theirs", 0.25))
    assert verdict(found, compare="difference", limit=0.25, unit="s").words == "missed by 0.25 s"


def test_a_value_stands_for_itself():
    assert verdict(result(row("ours", 61.0)), compare="value", against=(), limit=62, unit="s").holds


def test_some_figures_have_to_be_at_least_so_much():
    found = result(row("ours", 1.0))
    one = verdict(found, compare="value", against=(), limit=2, at_least=True, unit="")
    assert (one.holds, one.words) == (False, "missed by 1")


def test_the_best_of_several_peers_counts():
    found = result(row("ours", 1.0), row("slow", 9.0), row("fast", 0.5))
    one = verdict(found, against=("slow", "fast", "absent"), limit=2.0)
    assert (one.against, one.measured) == ("fast", 2.0)


def test_a_peer_that_failed_is_not_the_best_one():
    found = result(row("ours", 1.0), row("failed", 0.1, hosts=4, answered=3), row("slow", 2.0))
    assert verdict(found, against=("failed", "slow")).against == "slow"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row("ours", 1.0), row("theirs", install="apt-get install it")], "theirs: not installed"),
        ([row("ours", 1.0)], "theirs: no such row"),
        (
            [row("ours", 1.0, hosts=4, answered=2), row("theirs", 1.0)],
            "ours: failed in 1 of 1 rounds: 2 of 4 hosts",
        ),
        ([row("theirs", 1.0)], "ours: no such row"),
    ],
)
def test_what_lacks_a_figure_is_not_judged(rows, why):
    one = verdict(result(*rows))
    assert one.holds is None
    assert one.words.startswith(f"not judged: {why}")


@pytest.mark.parametrize("state", [{"skipped": "there is no sshd"}, {"abridged": "--quick"}])
def test_a_piece_that_was_not_run_as_it_is_defined_judges_nothing(state):
    (why,) = state.values()
    assert verdict(result(row("ours", 1.0), row("theirs", 2.0), **state)).words == f"not judged: {why}"


def test_a_piece_that_was_not_asked_for_is_left_out():
    target = Target(what="w", pieces=("warm",), row="ours", against=("theirs",), limit=1.0)
    assert judge([target], {"cold": result()}) == []


def test_the_summary_counts_what_could_be_judged():
    targets = [
        Target(what="w", pieces=("cold",), row=name, against=("theirs",), limit=1.0)
        for name in ("ours", "slow", "absent")
    ]
    found = result(row("ours", 1.0), row("slow", 3.0), row("theirs", 2.0))
    assert summary(judge(targets, {"cold": found})) == "1 of 2 targets that could be judged hold; 1 could not"


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.pieces[0]}: {target.what}")
def test_every_target_is_of_pieces_that_there_are(target):
    assert set(target.pieces) <= {piece.name for piece in PIECES}


def test_no_two_pieces_have_the_same_name():
    assert len({piece.name for piece in PIECES}) == len(PIECES)
