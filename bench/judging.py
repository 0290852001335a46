"""How a target is judged: a figure of one row beside the same figure of others, measured in the same rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.model import PieceResult, Row
from bench.summary import paired_difference, paired_ratio

Compare = Literal["ratio", "difference", "value"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """One figure, and what it may be at most (or has to be at least).

    Attributes:
        pieces: where it is measured; in each of them it has to hold.
        row: whose figure; `metric` which.
        against: whose the same figure is compared with; of several the best one that has a figure counts.
        compare: as `row / against`, as `row - against`, or by itself.
        unit: of the compared figure; "x" for a ratio.
    """

    what: str
    pieces: Sequence[str]
    row: str
    metric: str = "wall_s"
    against: Sequence[str] = ()
    compare: Compare = "ratio"
    limit: float
    at_least: bool = False
    unit: str = "x"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A target in one piece. `why_not` says why there is nothing to judge; `against` whom it was compared with."""

    target: Target
    piece: str
    measured: float | None = None
    against: str = ""
    why_not: str = ""

    @property
    def holds(self) -> bool | None:
        """None where it could not be judged."""
        if self.measured is None:
            return None
        target = self.target
        return self.measured >= target.limit if target.at_least else self.measured <= target.limit

    @property
    def words(self) -> str:
        """`holds`, by how much it is missed, or why nobody can tell."""
        if self.measured is None:
            return f"not judged: {self.why_not}"
        if self.holds:
            return "holds"
        off = abs(self.measured - self.target.limit)
        if self.target.unit == "x":
            return f"missed by {off / self.target.limit:.0%}"
        return f"missed by {off:.3g} {self.target.unit}".rstrip()


def judge(targets: Sequence[Target], results: Mapping[str, PieceResult]) -> list[Verdict]:
    """Each target in each of its pieces that was run, in their order."""
    return [
        _judge(target, piece, results[piece])
        for target in targets
        for piece in target.pieces
        if piece in results
    ]


def _judge(target: Target, piece: str, result: PieceResult) -> Verdict:
    if why_not := result.skipped or result.abridged:
        return Verdict(target=target, piece=piece, why_not=why_not)
    own = result.row(target.row)
    if own is None or own.median(target.metric) is None:
        return Verdict(target=target, piece=piece, why_not=_lacks(own, target.row))
    if target.compare == "value":
        return Verdict(target=target, piece=piece, measured=own.median(target.metric))
    others = [found for name in target.against if (found := result.row(name))]
    able = [other for other in others if other.median(target.metric) is not None]
    if not able:
        why_not = "; ".join(_lacks(result.row(name), name) for name in target.against)
        return Verdict(target=target, piece=piece, why_not=why_not)
    best = min(able, key=lambda other: other.median(target.metric) or 0.0)
    measured = _COMPARE[target.compare](own.by_round(target.metric), best.by_round(target.metric))
    why_not = "" if measured is not None else "no round that both have"
    return Verdict(target=target, piece=piece, measured=measured, against=best.name, why_not=why_not)


_COMPARE: Mapping[str, Callable[[Mapping[int, float], Mapping[int, float]], float | None]] = {
    "ratio": paired_ratio,
    "difference": paired_difference,
}


def _lacks(found: Row | None, name: str) -> str:
    return f"{name}: {found.wrong or 'no such figure'}" if found else f"{name}: no such row"
