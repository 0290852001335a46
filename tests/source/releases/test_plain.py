"""Releases as they are: the newest, the oldest, and one of each style, held against what a person read in them."""

from collections.abc import Iterator

import pytest
from release_judge import faults
from release_truth import flags_of, places, row, rows
from release_wheels import tree_or_skip

from fleetops.source.packages import package
from fleetops.source.trace import explain

# No flag yet; first release with it; objects handed on; annotated fields and pools that take it twice; the newest.
IN_EVERY_RUN = (
    "sglang-0.4.5.post2",
    "sglang-0.4.5.post3",
    "sglang-0.5.9",
    "sglang-0.5.16",
    "sglang-0.5.23",
    "vllm-0.33.0",
    "lmcache-0.5.6",
)
# Of the large ones, every run looks at the flag that the incident was about, and at nothing else.
ALL_FLAGS = ("sglang-0.4.5.post2", "sglang-0.4.5.post3", "sglang-0.5.9", "lmcache-0.5.6")
MAIN = ("hicache_size", "kv_offloading_size")
# By far the longest way (all that the device's pools are made of); the first release with it will do.
LONG = ("sglang-0.5.9", "mem_fraction_static")
MORE = (
    "sglang-0.5.10",
    "sglang-0.5.12",
    "sglang-0.5.14",
    "sglang-0.5.17",
    "sglang-0.5.19",
    "sglang-0.5.20",
    "sglang-0.5.21",
    "vllm-0.8.5",
    "vllm-0.11.0",
    "vllm-0.14.0",
    "vllm-0.20.0",
    "vllm-0.27.1",
    "lmcache-0.3.1",
    "lmcache-0.3.9",
    "lmcache-0.4.4",
)


def cases() -> Iterator[object]:
    for release in (*IN_EVERY_RUN, *MORE):
        name, version = release.split("-", 1)
        for flag in flags_of(name, version):
            often = release in IN_EVERY_RUN and (release in ALL_FLAGS or flag in MAIN)
            often = often and (release, flag) != LONG
            marks = [] if often else [pytest.mark.releases]
            yield pytest.param(release, flag, id=f"{release}-{flag}", marks=marks)


@pytest.mark.parametrize(("release", "flag"), list(cases()))
def test_a_release_is_understood(release: str, flag: str) -> None:
    tree = tree_or_skip(release)
    truth = row(tree.package, flag, tree.version)
    assert truth
    explanation = explain(flag, tree, package(tree.package))
    assert not faults(explanation, truth), truth.said.get("why")


def test_the_rows_of_a_flag_do_not_overlap() -> None:
    for one in rows():
        rivals = [other for other in rows() if (other.package, other.flag) == (one.package, one.flag)]
        assert not [other for other in rivals if other is not one and other.first <= one.first <= other.last]


def test_every_release_with_lines_has_a_row() -> None:
    for version in ("0.4.5.post3", "0.5.9", "0.5.23"):
        assert places(version)
        assert row("sglang", "hicache_size", version)


def test_a_release_after_the_last_that_was_read_is_held_against_the_last_row() -> None:
    newer = row("sglang", "hicache_size", "0.9.9")
    assert newer
    assert newer.holds_for("0.5.23")
