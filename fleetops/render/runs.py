"""The list of runs: what was done, to which node, how it ended."""

import time
from collections.abc import Sequence
from typing import Any

from fleetops.model.jsonable import jsonable
from fleetops.model.record import RunSummary
from fleetops.render.duration import show_duration
from fleetops.render.output import Output
from fleetops.render.table import columns

_STYLES = {
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
    output.show(columns(rows, right=(3,), styles=_STYLES))


def _row(run: RunSummary, now: float) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_at))
    took = show_duration((run.ended_at or now) - run.started_at)
    why = run.why.splitlines()[0] if run.why else ""
    return run.run_id, when, f"{run.playbook} {run.node}", took, run.status, why


def runs_json(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """`fleetops.runs/1`."""
    return {"schema": "fleetops.runs/1", "runs": jsonable(runs)}
