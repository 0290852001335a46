"""What is not reported, until when, and by whose word."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.jsonable import jsonable
from fleetops.model.sweep import Silenced
from fleetops.render.table import columns
from fleetops.render.when import show_moment


def silences_screen(found: Sequence[Silenced], now: float) -> Text:
    """The one that ends first comes first."""
    if not found:
        return Text("nothing is silenced")
    rows = [("host", "check", "for", "why", "by")]
    rows += [(one.host, one.check, show_duration(one.until - now), one.why, one.who) for one in found]
    return columns(rows)


def silences_json(found: Sequence[Silenced]) -> dict[str, Any]:
    """`fleetops.silences/1`."""
    return {"schema": "fleetops.silences/1", "silences": jsonable(found)}


def silenced_line(host: str, check: str, until: float, now: float, why: str) -> str:
    """What was written down."""
    if until <= now:
        return f"{host}: {check} is reported again"
    end = show_moment(until)
    return f"{host}: {check} is not reported until {end}: {why}"
