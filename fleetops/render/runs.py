"""The list of runs: what was done, to which node, how it ended."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.jsonable import jsonable
from fleetops.model.record import RunSummary
from fleetops.model.story import Bundle, Story
from fleetops.render.output import Output, safe
from fleetops.render.table import columns
from fleetops.render.when import show_moment

_LEAST_REASON = 12
RUN_STYLES = {
    "done": "green",
    "failed": "bold red",
    "refused": "yellow",
    "interrupted": "yellow",
    "unfinished": "bold red",
    "running": "bold",
    "taken-over": "dim",
}


def show_runs(output: Output, runs: Sequence[RunSummary], *, now: float) -> None:
    """Newest first; a run without an end says so, and what it wrote down last."""
    if not runs:
        output.note("no runs yet")
        return
    rows: list[tuple[str, ...]] = [("run", "when", "what", "took", "status", "")]
    rows += [_row(run, now) for run in runs]
    lines = columns([row[:-1] for row in rows], right=(3,), styles=RUN_STYLES).split("\n")
    at = max(line.cell_len for line in lines) + 3
    for line, row in zip(lines, rows, strict=True):
        output.lines(_with_reason(line, row[-1], at, output))


def _with_reason(line: Text, why: str, at: int, output: Output) -> Text:
    """The reason beside it; on a terminal as much of it as there is room for: `runs show` tells it whole."""
    room = output.width - at
    if not why or (output.is_terminal and room < _LEAST_REASON):
        return line
    reason = Text(safe(why))
    if output.is_terminal:
        reason.truncate(room, overflow="ellipsis")
    return line.append(" " * (at - line.cell_len)).append_text(reason)


def _row(run: RunSummary, now: float) -> tuple[str, ...]:
    when = show_moment(run.started_at)
    took = show_duration((run.ended_at or now) - run.started_at)
    why = run.why.splitlines()[0] if run.why else ""
    return run.run_id, when, f"{run.playbook} {run.node}", took, run.status, why


def runs_json(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """`fleetops.runs/1`."""
    return {"schema": "fleetops.runs/1", "runs": jsonable(runs)}


def run_json(story: Story) -> dict[str, Any]:
    """`fleetops.run/1`: the story's facts; what the journal does not hold is null."""
    body = {name: value for name, value in jsonable(story).items() if name not in {"run", "folder", "by"}}
    return {
        "schema": "fleetops.run/1",
        **jsonable(story.run),
        "by": story.by,
        **body,
        "evidence": story.folder,
    }


def bundle_json(story: Story, bundle: Bundle) -> dict[str, Any]:
    """The same, with what was packed."""
    return run_json(story) | {"bundle": jsonable(bundle)}
