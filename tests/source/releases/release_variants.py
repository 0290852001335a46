"""Variants of a release: a tree with edits, and what may be said of it. The files `variants_*.py` hold them."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from release_trees import EditedTree, Patch

from fleetops.model.proof import Explanation
from fleetops.source.tree import Tree

SMALL = "sglang-small"
# Every run takes all of their variants; of other releases those that are marked `often`.
QUICK = (SMALL, "sglang-0.4.5.post3", "lmcache-0.5.6")


@dataclass(frozen=True)
class Variant:
    """One edited release.

    Attributes:
        base: the release (`sglang-0.5.9`), or `sglang-small`.
        right: outcomes that are right (see `outcome`). More than one where following is a luxury.
        names: where the outcome is `unproven`, its reason has to name one of these.
        often: in every run of the tests, whatever the release.
    """

    base: str
    flag: str
    right: tuple[str, ...]
    names: tuple[str, ...]
    often: bool
    build: Callable[[Patch], None]

    @property
    def name(self) -> str:
        return f"{self.base}-{self.build.__name__}"

    def tree(self, base: Tree) -> EditedTree:
        """The edited tree. Fails where an edit does not apply."""
        patch = Patch(base)
        self.build(patch)
        assert patch.edits
        return patch.tree

    def faults(self, explanation: Explanation) -> list[str]:
        """What is wrong with the answer."""
        said = outcome(explanation)
        because = explanation.unproven_because or ""
        if said not in self.right:
            return [f"{said}{f' ({because})' if because else ''}, not {' or '.join(self.right)}"]
        if said == "unproven" and self.names and not any(name in because for name in self.names):
            return [f"unproven because {because!r}, which names none of {', '.join(self.names)}"]
        return []


_COLLECTED: list[Variant] = []


def variant(
    *bases: str, right: str, names: str = "", flag: str = "hicache_size", often: bool = False
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Collect a builder as a variant of each of these releases. `right` and `names` separate by ` | `."""

    def collect(build: Callable[[Patch], None]) -> Callable[[Patch], None]:
        _COLLECTED.extend(
            Variant(
                base,
                flag,
                tuple(right.split(" | ")),
                tuple(filter(None, names.split(" | "))),
                often or base in QUICK,
                build,
            )
            for base in bases
        )
        return build

    return collect


def outcome(explanation: Explanation) -> str:
    """`per-rank GB`, `total GiB`, `per-rank GB x2` where two whole pools are taken at once, `unproven`, ..."""
    if explanation.verdict != "proven":
        return explanation.verdict
    times = f" x{explanation.simultaneous}" if explanation.simultaneous not in (None, 1) else ""
    return f"{explanation.scope} {explanation.unit}{times}"


def all_variants() -> list[Variant]:
    """Every variant, in the files' order."""
    for path in sorted(Path(__file__).parent.glob("variants_*.py")):
        importlib.import_module(path.stem)
    return list(_COLLECTED)
