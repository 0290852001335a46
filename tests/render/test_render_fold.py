"""Equal answers of many hosts become one, and no host is lost."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fleetops.render.fold import fold

answers = st.lists(
    st.tuples(st.from_regex(r"node-[0-9]{1,3}", fullmatch=True), st.integers(0, 3)), max_size=30
)


def test_equal_answers_stand_under_the_hosts_that_gave_them() -> None:
    (alike, other) = fold([("node-171", "a"), ("node-175", "b"), ("node-172", "a"), ("node-173", "a")])
    assert (alike.label, alike.value) == ("node-[171-173]", "a")
    assert (other.label, other.value) == ("node-175", "b")


def test_what_most_hosts_say_comes_first() -> None:
    assert [group.value for group in fold([("a", 1), ("b", 2), ("c", 2)])] == [2, 1]


def test_equally_large_groups_keep_their_order() -> None:
    assert [group.value for group in fold([("a", 3), ("b", 1), ("c", 2)])] == [3, 1, 2]


def test_nothing_folds_to_nothing() -> None:
    assert fold([]) == ()


@given(answers)
def test_every_host_keeps_its_answer(given_answers: list[tuple[str, int]]) -> None:
    folded = [(host, group.value) for group in fold(given_answers) for host in group.hosts]
    assert Counter(folded) == Counter(given_answers)
    values = [group.value for group in fold(given_answers)]
    assert len(values) == len(set(values))
