"""A schedule for a person and for a program: what was written, how it stands, when the next sweep begins."""

import difflib
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.jsonable import jsonable
from fleetops.model.schedule import Planned, Standing, Written
from fleetops.render.plain import safe
from fleetops.render.rows import Row, lay_out, opposite
from fleetops.render.when import DAY_S, show_moment

SCHEMA = "fleetops.schedule/1"
_EXITS = {0: "all well", 1: "with findings", 3: "something is unknown"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "dim"}


def planned_texts(planned: Planned) -> Text:
    """Every text as it would be written, each under its place."""
    parts = [Text(f"# {text.place}\n", style="bold").append(safe(text.after)) for text in planned.texts]
    return _joined(parts)


def changed_texts(planned: Planned) -> Text:
    """What differs from what was there, as a diff; nothing for a first installation."""
    changed = [text for text in planned.texts if text.before and text.before != text.after]
    return _joined([_diff(text) for text in changed])


def installed_screen(planned: Planned, width: int) -> Text:
    """What is started, how often, by what, and where that is written down."""
    schedule = planned.schedule
    said = "scheduled" if planned.changes else "scheduled already"
    head = opposite(
        Text(said, style="bold"), f"{planned.keeper}, every {show_duration(schedule.every_s)}", width
    )
    rows = [Row(label=label, says=text.place) for label, text in _labelled(planned.texts)]
    rows.append(Row(label="runs", says=shlex.join(schedule.argv)))
    return Text("\n").join([head, *lay_out(rows, width), Text("  fleetops schedule status", style="bold")])


def _labelled(texts: Sequence[Written]) -> Iterator[tuple[str, Written]]:
    for text in texts:
        kind = text.place.rpartition(".")[2]
        yield (kind if kind in {"service", "timer"} else "crontab"), text


def install_json(planned: Planned, *, written: bool) -> dict[str, Any]:
    """`fleetops.schedule/1`."""
    schedule = planned.schedule
    return {
        "schema": SCHEMA,
        "action": "install",
        "written": written,
        "changed": planned.changes,
        "by": planned.keeper,
        "name": schedule.name,
        "inventory": schedule.inventory,
        "every_s": schedule.every_s,
        "deadline_s": schedule.deadline_s,
        "command": list(schedule.argv),
        "texts": jsonable(planned.texts),
        "notes": list(planned.notes),
    }


def standing_screen(
    standings: Sequence[Standing], inventory: str, last: tuple[float, float] | None, now: float, width: int
) -> Text:
    """Each keeper that has it, the runs, and the last sweep that is remembered, whoever started it."""
    if not standings:
        row = _last_sweep(last, "", now)
        head = Text(f"sweeps of {safe(inventory)} are not scheduled", style="bold")
        return Text("\n").join(
            [head, *lay_out([row], width), Text("  fleetops schedule install", style="bold")]
        )
    return _joined([_standing(one, last, now, width) for one in standings])


def status_json(
    name: str, standings: Sequence[Standing], last: tuple[float, float] | None, now: float
) -> dict[str, Any]:
    """`fleetops.schedule/1`."""
    sweep = {"at": last[0], "seconds": round(last[1], 3), "age_s": round(now - last[0], 3)} if last else None
    return {
        "schema": SCHEMA,
        "action": "status",
        "name": name,
        "installed": bool(standings),
        "schedules": [_standing_json(one, last, now) for one in standings],
        "sweep": sweep,
    }


def is_late(standing: Standing, last: tuple[float, float] | None, now: float) -> bool:
    """Whether the last sweep that is remembered is too old for one that is started so often."""
    return bool(standing.every_s and last and now - last[0] > 3 * standing.every_s + 60)


def removed_screen(removed: Sequence[str], inventory: str) -> Text:
    """What is there no more."""
    if not removed:
        return Text(f"sweeps of {safe(inventory)} are not scheduled: nothing to remove")
    return Text("\n").join(Text(f"removed   {safe(place)}") for place in removed)


def removed_json(name: str, removed: Sequence[str]) -> dict[str, Any]:
    """`fleetops.schedule/1`."""
    return {"schema": SCHEMA, "action": "remove", "name": name, "removed": list(removed)}


def _standing(one: Standing, last: tuple[float, float] | None, now: float, width: int) -> Text:
    often = f", every {show_duration(one.every_s)}" if one.every_s else ""
    head = opposite(Text(one.name, style="bold"), f"{one.keeper}{often}", width)
    rows = [
        Row(label="wrong" if at == 0 else "", says=text, style="bold red")
        for at, text in enumerate(one.troubles)
    ]
    rows += [Row(label="next", says=_next(one, now)), Row(label="last run", says=_last_run(one, now))]
    late = "late" if is_late(one, last, now) else ""
    rows.append(_last_sweep(last, late, now))
    rows += [Row(label="kept in" if at == 0 else "", says=place) for at, place in enumerate(one.places)]
    return Text("\n").join([head, *lay_out(rows, width), Text(f"  {safe(one.log)}", style="bold")])


def _standing_json(one: Standing, last: tuple[float, float] | None, now: float) -> dict[str, Any]:
    return {**jsonable(one), "ran_well": one.ran_well, "late": is_late(one, last, now)}


def _next(one: Standing, now: float) -> str:
    if one.running:
        return "a sweep is under way"
    if one.next_at is None:
        return "none, as far as can be told"
    ahead_s = one.next_at - now
    return f"{_clock(one.next_at, now)}, in {show_duration(ahead_s)}" if ahead_s >= 1 else "now"


def _last_run(one: Standing, now: float) -> str:
    if one.last_at is None:
        return "none yet"
    parts = [_clock(one.last_at, now)]
    parts += [f"took {one.last_s:.1f} s"] if one.last_s is not None else []
    parts += [_ended(one)] if one.last_exit is not None or one.last_result else []
    return ", ".join(parts)


def _ended(one: Standing) -> str:
    code = f"exit code {one.last_exit}" if one.last_exit is not None else ""
    if one.ran_well and one.last_exit in _EXITS:
        return f"{_EXITS[one.last_exit]} ({code})"
    return ": ".join(filter(None, ("failed", one.last_result, code)))


def _last_sweep(last: tuple[float, float] | None, late: str, now: float) -> Row:
    """What the store remembers; it may have been typed by hand."""
    if last is None:
        return Row(label="last sweep", says="none is remembered")
    says = f"{_clock(last[0], now)}, {show_duration(now - last[0])} ago"
    return Row(label="last sweep", says=f"{says}: {late}" if late else says, style="bold red" if late else "")


def _clock(at: float, now: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at)) if abs(now - at) < DAY_S else show_moment(at)


def _diff(text: Written) -> Text:
    lines = difflib.unified_diff(
        text.before.splitlines(), text.after.splitlines(), text.place, "as it becomes", lineterm="", n=1
    )
    return Text("\n").join(Text(safe(line), style=_DIFF_STYLES.get(line[:1], "")) for line in lines)


def _joined(parts: Sequence[Text]) -> Text:
    return Text("\n\n").join(parts)
