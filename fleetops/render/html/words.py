"""How the page says severities, times and numbers."""

import time

from fleetops.model.duration import show_duration
from fleetops.model.finding import Severity
from fleetops.model.units import show_gb, show_gib
from fleetops.render.html.tags import Markup, tag

WORDS = {
    Severity.CRITICAL: "critical",
    Severity.UNKNOWN: "unknown",
    Severity.WARNING: "warning",
    Severity.OK: "well",
}
NOT_SWEPT = "not swept"


def kind(severity: Severity | None) -> str:
    """The class and the symbol that show it; what was not swept has its own."""
    return "none" if severity is None else severity.word


def word(severity: Severity | None) -> str:
    """As it is read."""
    return NOT_SWEPT if severity is None else WORDS[severity]


def symbol(name: str) -> Markup:
    """A shape of its own for each severity and each kind of mark; the word beside it says the same."""
    return tag("svg", tag("use", href=f"#is-{name}"), class_=f"symbol {name}", aria_hidden="true")


def moment(at: float, *, after: float | None = None) -> Markup:
    """`Thu 26 Nov 14:02`, for a machine as well; without the day where it is that of the one it stands after."""
    local = time.localtime(at)
    same_day = after is not None and time.localtime(after)[:3] == local[:3]
    shown = time.strftime("%H:%M", local) if same_day else _shown(local)
    return tag("time", shown, datetime=time.strftime("%Y-%m-%dT%H:%M:%S%z", local))


def _shown(local: time.struct_time) -> str:
    """The day of the month without its zero is no standard directive."""
    return f"{time.strftime('%a', local)} {local.tm_mday} {time.strftime('%b %H:%M', local)}"


def as_of(at: float, swept_at: float | None) -> str:
    """`now` where the host's last sweep has read it; what is older is not told as if it still were so."""
    is_fresh = swept_at is not None and at >= swept_at
    return "now" if is_fresh else f"on {_shown(time.localtime(at))}"


def zone(at: float) -> str:
    """The name of the zone that the times are in."""
    return time.strftime("%Z", time.localtime(at)) or time.strftime("%z", time.localtime(at))


def offset_s(at: float) -> int:
    """How far that zone is ahead of UTC."""
    return time.localtime(at).tm_gmtoff


def quantity(name: str, value: float) -> str:
    """In the unit that the number's name ends in; GPU memory in GiB, as its vendor counts."""
    unit = name.rpartition("-")[2]
    if unit == "bytes":
        return show_gib(value) if name.startswith("gpu") else show_gb(value)
    number = f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"
    return f"{number} {_UNITS[unit]}" if unit in _UNITS else number


_UNITS = {"c": "°C", "s": "s", "us": "µs", "w": "W", "ms": "ms", "percent": "%"}


def plural(count: int, noun: str) -> str:
    """`1 sweep`, `2,016 sweeps`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def lasted(seconds: float) -> str:
    """A duration; of one sweep alone nothing is known."""
    return show_duration(seconds) if seconds > 0 else ""
