"""What an interrupted run has written down: which it was, how far it got, and which of its changes nobody knows the end of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetops.model.interrupted import Interrupted
from fleetops.playbook.journal import read_events, summarise
from fleetops.playbook.lock import Owner

_STAMP, _CHANCE = "YYYYMMDD-HHMMSS-", "-abcdef"
_CUT_OFF, _BY_OPERATOR = "unfinished", "interrupted"


def node_of(run_id: str) -> str:
    """The node that a run's id names (fleet/operate.py makes them)."""
    return run_id[len(_STAMP) : -len(_CHANCE)]


def interrupted_in(state: Path, node: str) -> Interrupted | None:
    """The run on this node that the journals of this state folder know to be interrupted, and no later one to have ended.

    A later run that was refused before it changed anything has ended nothing.
    """
    chain: list[str] = []
    found: tuple[Path, str] | None = None
    for folder in sorted((state / "runs").glob(f"*-{node}-*"), reverse=True):
        summary = summarise(folder) if (folder / "journal.jsonl").exists() else None
        if summary is None or summary.node != node or (chain and folder.name not in chain):
            continue
        events = read_events(folder)
        changed = any(event["event"] == "intent" for event in events)
        if not chain and summary.status == "refused" and not changed:
            continue
        if not chain and not (summary.status == _CUT_OFF or (summary.status == _BY_OPERATOR and changed)):
            return None
        found = found or (folder, summary.status)
        chain += [one for one in (folder.name, events[0].get("continues", "")) if one and one not in chain]
    return _told(*found, tuple(chain)) if found else None


def interrupted_by(holder: Owner, now: float, since_s: float) -> Interrupted:
    """The same, told by a lapsed lock alone: its journal is on another controller."""
    return Interrupted(
        run_id=holder.run_id,
        at=now - since_s,
        how=f"its lock has lapsed; it was run by {holder.user} on {holder.controller} (pid {holder.pid}), where its journal is",
        chain=(holder.run_id,),
    )


def _told(folder: Path, status: str, chain: tuple[str, ...]) -> Interrupted:
    events = read_events(folder)
    last = events[-1]
    where = f"{last['event']} of {last['step']}" if "step" in last else str(last["event"])
    cut_off = f"its controller ended; last written down: {where}"
    return Interrupted(
        run_id=folder.name,
        playbook=events[0].get("playbook", ""),
        at=last["at"],
        how=cut_off if status == _CUT_OFF else "interrupted by the operator",
        chain=chain,
        unknown=_without_outcome(events),
        launched_at=_launched_at(events),
    )


def _without_outcome(events: Sequence[Mapping[str, Any]]) -> str:
    """The last change, where no outcome was written down after it."""
    changes = [event for event in events if event["event"] in {"intent", "outcome"}]
    if not changes or changes[-1]["event"] == "outcome":
        return ""
    one = changes[-1]
    return f"{one.get('step', 'a step')} on {one.get('host', '?')}: {one.get('why', 'a change')}"


def _launched_at(events: Sequence[Mapping[str, Any]]) -> float | None:
    starts = [
        event["at"] for event in events if event["event"] == "intent" and event.get("step") == "start-service"
    ]
    return starts[-1] if starts else None
