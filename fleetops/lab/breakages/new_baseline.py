"""A wedged node of which nobody has recorded how it looks when it is idle: first contact is the incident."""

import json
import time
from dataclasses import asdict
from pathlib import Path

from fleetops.lab.breakages import per_rank_trap
from fleetops.lab.paths import Layout
from fleetops.model.finding import Baseline
from fleetops.store.database import Store

NAME = "new-baseline"
SUMMARY = "wedged as in per-rank-trap, and nobody ever recorded how the idle node looks"
EXPLANATION = (
    "fleetops has never seen this node idle: its first contact is the incident. So nothing on record says how much memory"
    " is `all of it`. The idle state comes from idle peers of the same model, else from MemTotal less what can be accounted"
    " for, and the margin of that estimate is stated; when the node is clean its true idle state is recorded."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Wedge the node, and forget how it looks when it is idle."""
    per_rank_trap.apply(folder, node)
    forgotten = Store(Layout(folder).state).forget_baseline(node)
    if forgotten:
        _kept(folder, node).write_text(json.dumps(asdict(forgotten)))


def undo(folder: Path, node: str) -> None:
    """Remember it again, unless a newer one has been recorded since."""
    kept = _kept(folder, node)
    if not kept.exists():
        return
    store = Store(Layout(folder).state)
    if store.baseline(node) is None:
        store.record_baseline(node, time.time(), Baseline(**json.loads(kept.read_text())))
    kept.unlink()


def _kept(folder: Path, node: str) -> Path:
    return folder / f"{node}-baseline.json"
