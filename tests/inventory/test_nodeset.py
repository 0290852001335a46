"""`node-[171-174]` and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.model.nodeset import expand, fold_names, natural_key, split_list


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("node-174", "node-174"),
        ("node-[171-173]", "node-171 node-172 node-173"),
        ("node-[170,172-173]", "node-170 node-172 node-173"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[9-11].lan", "n9.lan n10.lan n11.lan"),
        ("r[1-2]-n[1-2]", "r1-n1 r1-n2 r2-n1 r2-n2"),
    ],
)
def test_brackets_stand_for_their_numbers(pattern, names):
    assert expand(pattern) == tuple(names.split())


@pytest.mark.parametrize(
    "bad", ["n[3-1]", "n[a-c]", "n[", "n]", "n[]", "n[1-]", "n[[1]]", "n[0-99999999]", "n[1-400][1-400]"]
)
def test_a_range_without_sense_is_refused_in_words(bad):
    with pytest.raises(ValueError, match=r"range|brackets|backwards|more than"):
        expand(bad)


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ("node-171 node-172 node-173 node-174", "node-[171-174]"),
        ("node-174 node-171 node-172", "node-[171-172,174]"),
        ("node-174", "node-174"),
        ("pve-01 node-9 node-10", "node-[9-10],pve-01"),
        ("n08 n09 n10 n11", "n[08-11]"),
        ("n8 n08", "n[8,08]"),
        ("n1.dc2 n2.dc2", "n[1-2].dc2"),
        ("alpha beta", "alpha,beta"),
        ("", ""),
    ],
)
def test_names_fold_to_a_short_list(names, folded):
    assert fold_names(names.split()) == folded


NAMES = st.from_regex(r"[a-c]?[0-9]{0,3}[.-]?[a-b]?[0-9]{0,3}", fullmatch=True).filter(bool)


@given(st.sets(NAMES, max_size=20))
def test_folding_loses_and_adds_no_name(names):
    parts = split_list(fold_names(names)) if names else []
    assert sorted(name for part in parts for name in expand(part)) == sorted(names)


@given(
    st.lists(
        st.from_regex(r"[a-z0-9*?!@-]{1,5}(\[[0-9]{1,2}(,[0-9]{1,2}){0,2}\])?", fullmatch=True),
        min_size=1,
        max_size=5,
    )
)
def test_a_comma_list_splits_only_outside_brackets(parts):
    assert split_list(",".join(parts)) == parts


def test_numbers_sort_as_numbers():
    assert sorted(["n10", "n9", "n9b", "m"], key=natural_key) == ["m", "n9", "n9b", "n10"]
