"""Medians and ratios: nothing else is ever said of several rounds."""

from collections.abc import Mapping, Sequence


def median(values: Sequence[float]) -> float:
    """The middle one; of an even number the mean of the middle two. Raises ValueError where there is none."""
    if not values:
        raise ValueError("no values, no median")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def paired_ratio(left: Mapping[int, float], right: Mapping[int, float]) -> float | None:
    """The median of left over right in each round that both have: what slows a whole round down drops out.

    None where they share no round, or there is nothing to divide by.
    """
    ratios = [left[number] / right[number] for number in left if right.get(number)]
    return median(ratios) if ratios else None


def paired_difference(left: Mapping[int, float], right: Mapping[int, float]) -> float | None:
    """The median of left less right, round by round; None where they share none."""
    differences = [left[number] - right[number] for number in left if number in right]
    return median(differences) if differences else None
