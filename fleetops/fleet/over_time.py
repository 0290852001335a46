"""Many sweeps in little space: health as bands of cells, numbers as the least and the most of each cell."""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise, zip_longest
from statistics import median

from fleetops.model.finding import Severity, worst_of
from fleetops.model.page import Band, Spell
from fleetops.model.past import Sample

_WIDTHS_S = (60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
# So many times the usual distance of two sweeps without one is a gap.
_GAP = 3.5
Health = Sequence[tuple[float, Severity]]


def cell_width(span_s: float, most: int) -> float:
    """How long a cell is, in round numbers, so that no more than `most` fill the span."""
    least = span_s / most
    day = _WIDTHS_S[-1]
    return float(next((one for one in _WIDTHS_S if one >= least), math.ceil(least / day) * day))


def bands(health: Health, begin: float, cell_s: float, cells: int) -> tuple[Band, ...]:
    """The whole stretch, from its first cell to its last."""
    worst: list[Severity | None] = [None] * cells
    for at, severity in health:
        place = min(cells - 1, int((at - begin) // cell_s))
        if place >= 0:
            worst[place] = _worse(worst[place], severity)
    found, first = [], 0
    for severity_of_all, same in groupby(worst):
        count = len(list(same))
        found.append(Band(first=first, cells=count, severity=severity_of_all))
        first += count
    return tuple(found)


def _worse(one: Severity | None, other: Severity) -> Severity:
    return other if one is None else worst_of((one, other))


def spells(health: Health) -> tuple[Spell, ...]:
    """Every stretch that was not well, the latest first."""
    found: list[Spell] = []
    groups = [list(same) for _, same in groupby(health, key=lambda one: one[1])]
    for group, following in zip_longest(groups, groups[1:]):
        (since, severity), last = group[0], group[-1][0]
        until = following[0][0] if following else last
        spell = Spell(severity=severity, since=since, until=until, sweeps=len(group), lasts=following is None)
        if severity is not Severity.OK:
            found.append(spell)
    return tuple(reversed(found))


def thinned(samples: Sequence[Sample], begin: float, cell_s: float) -> tuple[tuple[float, float | None], ...]:
    """Of each cell its least and its most, as they came; None in between where nothing was read for some time."""
    points: list[tuple[float, float | None]] = []
    for stretch in _without_gaps(samples, cell_s):
        if points:
            points.append(((points[-1][0] + stretch[0].at) / 2, None))
        cells = groupby(stretch, lambda one: (one.at - begin) // cell_s)
        points += [(one.at, one.value) for _, cell in cells for one in _ends(list(cell))]
    return tuple(points)


def _without_gaps(samples: Sequence[Sample], cell_s: float) -> list[list[Sample]]:
    """No gap is shorter than a cell: so there are no more of them than cells."""
    distances = [later.at - one.at for one, later in pairwise(samples)]
    gap_s = max(_GAP * median(distances), cell_s) if distances else 0.0
    stretches: list[list[Sample]] = []
    for one in samples:
        if not stretches or one.at - stretches[-1][-1].at > gap_s:
            stretches.append([])
        stretches[-1].append(one)
    return stretches


def _ends(cell: Sequence[Sample]) -> list[Sample]:
    least, most = min(cell, key=lambda one: one.value), max(cell, key=lambda one: one.value)
    return sorted((least, most) if least.value < most.value else (least,), key=lambda one: one.at)
