"""What sweeps remember of a host: how well it was, and its numbers over time."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.finding import Severity
from fleetops.model.past import Sample
from fleetops.model.sweep import Tracked
from fleetops.model.units import show_gb
from fleetops.render.chart import chart, spark
from fleetops.render.sweep import SEVERITY_STYLES
from fleetops.render.table import columns
from fleetops.render.when import show_moment

_SPARK, _HEIGHT, _LEAST_WIDTH = 24, 10, 40
_MARKS = {Severity.OK: "·", Severity.WARNING: "!", Severity.CRITICAL: "X", Severity.UNKNOWN: "?"}
Health = Sequence[tuple[float, Severity]]


def history_screen(
    host: str, health: Health, series: Mapping[str, Sequence[Sample]], found: Sequence[Tracked], width: int
) -> Text:
    """Health as one mark a sweep, every number with its bounds, and the findings that there were."""
    blocks = [_headline(host, health)]
    if health:
        blocks.append(_strip(health, width))
    if series:
        rows: list[tuple[str, ...]] = [("fact", "now", "least", "most", "")]
        rows += [_row(name, samples) for name, samples in sorted(series.items())]
        blocks.append(columns(rows, right=(1, 2, 3), indent=2))
    if found:
        blocks.append(_findings(found))
    return Text("\n\n").join(blocks)


def fact_screen(host: str, name: str, samples: Sequence[Sample], width: int) -> Text:
    """One number as a chart."""
    head = f"{host}   {name}   {len(samples)} sweeps"
    rows = chart(samples, max(_LEAST_WIDTH, width - 2), _HEIGHT, lambda value: shown(name, value))
    return Text("\n").join([Text(head, style="bold"), *(Text(row) for row in rows)])


def history_json(
    host: str, health: Health, series: Mapping[str, Sequence[Sample]], found: Sequence[Tracked]
) -> dict[str, Any]:
    """`fleetops.history/1`."""
    return {
        "schema": "fleetops.history/1",
        "host": host,
        "health": [{"at": at, "severity": severity.word} for at, severity in health],
        "facts": {
            name: [{"at": one.at, "value": one.value} for one in samples] for name, samples in series.items()
        },
        "findings": [
            {
                "check": one.finding.check,
                "subject": one.finding.subject,
                "severity": one.finding.severity.word,
                "first_seen": one.first_seen,
                "last_seen": one.last_seen,
                "cleared_at": one.cleared_at,
                "sweeps": one.count,
            }
            for one in found
        ],
    }


def shown(name: str, value: float) -> str:
    """In the unit that the fact's name ends in."""
    unit = name.rpartition("-")[2]
    if unit == "bytes":
        return show_gb(round(value))
    return f"{value:g} {unit}" if unit in {"c", "s", "us", "w"} else f"{value:g}"


def _headline(host: str, health: Health) -> Text:
    if not health:
        return Text(f"{host}   never swept")
    span = show_duration(health[-1][0] - health[0][0])
    return Text(host, style="bold").append(f"   {len(health)} sweeps in {span}", style="not bold")


def _strip(health: Health, width: int) -> Text:
    line = Text("  ")
    for _, severity in health[-max(_LEAST_WIDTH, width - 4) :]:
        line.append(_MARKS[severity], style=SEVERITY_STYLES[severity])
    return line.append("\n  · well  ! warning  X critical  ? unknown", style="dim")


def _row(name: str, samples: Sequence[Sample]) -> tuple[str, ...]:
    values = [one.value for one in samples]
    return (
        name,
        shown(name, values[-1]),
        shown(name, min(values)),
        shown(name, max(values)),
        spark(samples, _SPARK),
    )


def _findings(found: Sequence[Tracked]) -> Text:
    rows = [("finding", "severity", "first seen", "last seen", "sweeps", "")]
    rows += [
        (
            one.finding.subject,
            one.finding.severity.word,
            show_moment(one.first_seen),
            show_moment(one.last_seen),
            str(one.count),
            "gone" if one.cleared_at is not None else "there",
        )
        for one in sorted(found, key=lambda one: -one.last_seen)
    ]
    styles = {severity.word: style for severity, style in SEVERITY_STYLES.items()}
    return columns(rows, right=(4,), styles=styles, indent=2)
