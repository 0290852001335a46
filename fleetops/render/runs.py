"""The list of runs: what was done, to which node, how it ended."""

import time
from collections.abc import Sequence
from typing import Any

from fleetops.model.jsonable import jsonable
from fleetops.model.record import RunSummary
from fleetops.model.story import Bundle, Story
from fleetops.render.duration import show_duration
from fleetops.render.output import Output
from fleetops.render.table import columns

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
    output.show(columns(rows, right=(3,), styles=RUN_STYLES))


def _row(run: RunSummary, now: float) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_at))
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
