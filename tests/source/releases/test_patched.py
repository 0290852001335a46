"""Releases with edits: what changes the meaning changes the answer, what does not leaves it, and doubt is said.

A confident wrong answer is the worst defect that this program can have; each variant names the answers that are right.
"""

import pytest
from release_variants import SMALL, Variant, all_variants
from release_wheels import tree_or_skip

from fleetops.source.packages import package
from fleetops.source.trace import explain

VARIANTS = all_variants()


def params() -> list[object]:
    return [
        pytest.param(one, id=one.name, marks=[] if one.often else [pytest.mark.releases]) for one in VARIANTS
    ]


@pytest.mark.parametrize("variant", params())
def test_an_edited_release_is_understood(variant: Variant) -> None:
    tree = variant.tree(tree_or_skip(variant.base))
    assert not variant.faults(explain(variant.flag, tree, package(tree.package)))


def test_the_small_package_is_understood() -> None:
    tree = tree_or_skip(SMALL)
    explanation = explain("hicache_size", tree, package("sglang"))
    assert (explanation.verdict, explanation.unit, explanation.scope) == ("proven", "GB", "per-rank")


def test_variants_have_names_of_their_own() -> None:
    names = [one.name for one in VARIANTS]
    assert len(set(names)) == len(names)
