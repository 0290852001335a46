"""Which run is meant: by its whole id, or by a beginning or an end of it that no other has."""

import difflib
import time
from collections.abc import Sequence
from pathlib import Path

from fleetops.model.errors import UsageError
from fleetops.model.record import RunSummary
from fleetops.playbook.journal import list_runs

_MOST_NAMED = 8
_NEAREST = 3


def find_run(state: Path, given: str) -> tuple[RunSummary, str]:
    """The one run that `given` names, and the id of the newest run that went on from it ("" where none did).

    Raises UsageError, which names those that it may mean.
    """
    runs = list_runs(state)
    if not runs:
        raise UsageError(
            f"no run {given!r}: nothing was done from here yet", hint=f"journals lie in {state}/runs"
        )
    found = _the_one(runs, given)
    return found, next((run.run_id for run in runs if run.continues == found.run_id), "")


def _the_one(runs: Sequence[RunSummary], given: str) -> RunSummary:
    exact = [run for run in runs if run.run_id == given]
    found = exact or [run for run in runs if given and _meets(run.run_id, given)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{given!r} names {len(found)} runs:\n{_listed(found)}",
            hint="give more of the id: a beginning or an end that only one has",
        )
    raise UsageError(
        f"there is no run {given!r}; the nearest:\n{_listed(_nearest(given, runs))}", hint="fleetops runs"
    )


def _meets(run_id: str, given: str) -> bool:
    return run_id.startswith(given) or run_id.endswith(given)


def _nearest(given: str, runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Those that hold the words, as a node's name; else those spelled most alike, whole or in their last part."""
    holding = [run for run in runs if given and given in run.run_id]
    if holding:
        return holding
    by_id = {run.run_id: run for run in runs}
    by_end = {run_id.rpartition("-")[2]: run for run_id, run in by_id.items()}
    close = [by_id[one] for one in difflib.get_close_matches(given, by_id, n=_NEAREST, cutoff=0.6)]
    close += [by_end[one] for one in difflib.get_close_matches(given, by_end, n=_NEAREST, cutoff=0.6)]
    return list({run.run_id: run for run in close}.values()) or list(runs[:_NEAREST])


def _listed(runs: Sequence[RunSummary]) -> str:
    """Newest first, a line each."""
    lines = [
        f"  {run.run_id}   {time.strftime('%Y-%m-%d %H:%M', time.localtime(run.started_at))}"
        f"   {run.playbook} {run.node}, {run.status}"
        for run in runs[:_MOST_NAMED]
    ]
    more = len(runs) - _MOST_NAMED
    return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])
