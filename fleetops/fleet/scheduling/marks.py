"""How a text says that fleetops wrote it, and for what: one comment line, which systemd and cron pass over."""

import json
from dataclasses import dataclass

from fleetops.model.schedule import Schedule

_MARK = "# written by `fleetops schedule`: "


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What stands in it."""

    inventory: str = ""
    every_s: float | None = None
    state: str = ""


def mark_of(schedule: Schedule) -> str:
    """The line, without its end. Nothing in it can end the comment: JSON has no raw newline."""
    told = {"inventory": schedule.inventory, "every_s": schedule.every_s, "state": schedule.state}
    return _MARK + json.dumps(told)


def read_mark(text: str) -> Mark | None:
    """What the first such line says; None where there is none: then the text is somebody else's."""
    line = next((line for line in text.splitlines() if line.startswith(_MARK)), None)
    if line is None:
        return None
    try:
        told = json.loads(line.removeprefix(_MARK))
    except ValueError:
        return Mark()
    if not isinstance(told, dict):
        return Mark()
    every_s = told.get("every_s")
    return Mark(
        inventory=str(told.get("inventory", "")),
        every_s=float(every_s) if isinstance(every_s, int | float) else None,
        state=str(told.get("state", "")),
    )
