"""Numbers over time as a terminal can draw them: a line of blocks, or a small chart with its axes."""

from collections.abc import Callable, Sequence

from fleetops.model.past import Sample
from fleetops.render.when import show_moment

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = 8


def spark(samples: Sequence[Sample], width: int) -> str:
    """One line: each column the mean of its stretch of time, from the least to the most; a blank where nothing was read."""
    columns = _columns(samples, width)
    known = [value for value in columns if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return "".join(_block(value, low, high) for value in columns)


def chart(samples: Sequence[Sample], width: int, height: int, show: Callable[[float], str]) -> list[str]:
    """Rows from the top, the scale at their left, the times below. The scale begins at 0 unless all lies far above it."""
    values = [one.value for one in samples]
    low, high = _bounds(values)
    labels = [show(high), show(low)]
    margin = max(map(len, labels))
    columns = _columns(samples, max(10, width - margin - 2))
    rows = []
    for row in range(height):
        label = labels[0] if row == 0 else labels[1] if row == height - 1 else ""
        cells = "".join(_cell(value, low, high, height - 1 - row, height) for value in columns)
        rows.append(f"{label:>{margin}} ┤{cells}".rstrip())
    begin, end = show_moment(samples[0].at), show_moment(samples[-1].at)
    rows.append(f"{'':>{margin}}  {begin}{end:>{max(0, len(columns) - len(begin))}}")
    return rows


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low >= 0 and high > 0 and low < 0.9 * high:
        low = 0.0
    return (low, high) if high > low else (low - 1, low + 1)


def _columns(samples: Sequence[Sample], width: int) -> list[float | None]:
    if not samples:
        return []
    begin, end = samples[0].at, samples[-1].at
    if end == begin:
        return [samples[-1].value]
    stretches: list[list[float]] = [[] for _ in range(width)]
    for one in samples:
        place = int((one.at - begin) / (end - begin) * (width - 1))
        stretches[place].append(one.value)
    means = [sum(found) / len(found) if found else None for found in stretches]
    return means if len(samples) >= width else [value for value in means if value is not None]


def _block(value: float | None, low: float, high: float) -> str:
    if value is None:
        return " "
    share = (value - low) / (high - low) if high > low else 0.0
    return _BLOCKS[1 + round(share * (_EIGHTHS - 1))]


def _cell(value: float | None, low: float, high: float, row: int, height: int) -> str:
    """The part of a column that lies in this row, row 0 at the bottom."""
    if value is None:
        return " "
    eighths = round((value - low) / (high - low) * height * _EIGHTHS) - row * _EIGHTHS
    least = 1 if row == 0 else 0
    return _BLOCKS[min(_EIGHTHS, max(least, eighths))]
