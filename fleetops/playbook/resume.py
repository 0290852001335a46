"""What an interrupted run has written down: which it was, how far it got, and which of its changes nobody knows the end of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetops.model.interrupted import Interrupted
from fleetops.playbook.journal import CUT_OFF, named, read_events, summary_of
from fleetops.playbook.lock import Owner
from fleetops.steps.power_cycle import STEP as POWER_CYCLE
from fleetops.steps.support.detached import RUNS
from fleetops.steps.support.power_claims import START, STOP

Event = Mapping[str, Any]
_POWER = (f"/{STOP}", f"/{START}")
_STAMP, _CHANCE = "YYYYMMDD-HHMMSS-", "-abcdef"
_BY_OPERATOR = "interrupted"
_ENDED_BADLY = {"refused", "failed"}


def node_of(run_id: str) -> str:
    """The node that a run's id names (fleet/operate.py makes them)."""
    return run_id[len(_STAMP) : -len(_CHANCE)]


def interrupted_in(state: Path, node: str) -> Interrupted | None:
    """The run on this node that the journals of this state folder know to be interrupted, and no later one to have ended.

    A later run that was refused, or failed, before it changed anything has ended nothing. One that failed after it had stopped the
    guest, because its hypervisor was out of reach, is told as well (`if_down`): who starts it, if not the next one?
    """
    chain: list[str] = []
    found: tuple[str, str, Sequence[Event]] | None = None
    for folder in sorted((state / "runs").glob(f"*-{node}-*"), reverse=True):
        if (chain and folder.name not in chain) or not (folder / "journal.jsonl").exists():
            continue
        events = read_events(folder)
        summary = summary_of(folder.name, events)
        if summary is None or summary.node != node:
            continue
        changed = any(event["event"] == "intent" for event in events)
        if not chain and summary.status in _ENDED_BADLY and not changed:
            continue
        cut_off = summary.status == CUT_OFF or (summary.status == _BY_OPERATOR and changed)
        if not chain and not cut_off and not _may_be_down(events):
            return None
        found = found or (folder.name, summary.status, events)
        chain += [one for one in (folder.name, events[0].get("continues", "")) if one and one not in chain]
    return _told(*found, tuple(chain)) if found else None


def interrupted_by(holder: Owner, now: float, since_s: float) -> Interrupted:
    """The same, told by a lapsed lock alone: its journal is on another controller."""
    return Interrupted(
        run_id=holder.run_id,
        at=now - since_s,
        how=f"its lock has lapsed; it was run by {holder.whose} (pid {holder.pid}), where its journal is",
        chain=(holder.run_id,),
    )


def _told(run_id: str, status: str, events: Sequence[Event], chain: tuple[str, ...]) -> Interrupted:
    last = events[-1]
    how = {
        CUT_OFF: f"its controller ended; last written down: {named(last)}",
        _BY_OPERATOR: "interrupted by the operator",
    }
    return Interrupted(
        run_id=run_id,
        playbook=events[0].get("playbook", ""),
        at=last["at"],
        how=how.get(status, f"{status}: {last.get('why', '')}"),
        chain=chain,
        unknown=_without_outcome(events),
        launched_at=_launched_at(events),
        if_down=status not in how,
    )


def _may_be_down(events: Sequence[Event]) -> bool:
    """It has switched the guest's power, and its restart did not end well."""
    stopped, back = False, False
    for event in events:
        claims = (word for word in event.get("argv", ()) if word.startswith(RUNS))
        stopped |= event["event"] == "intent" and any(word.endswith(_POWER) for word in claims)
        back |= (
            event["event"] == "step-end" and event["step"] == POWER_CYCLE.name and event["status"] == "done"
        )
    return stopped and not back


def _without_outcome(events: Sequence[Event]) -> str:
    """The last change, where no outcome was written down after it."""
    changes = [event for event in events if event["event"] in {"intent", "outcome"}]
    if not changes or changes[-1]["event"] == "outcome":
        return ""
    one = changes[-1]
    return f"{one.get('step', 'a step')} on {one.get('host', '?')}: {one.get('why', 'a change')}"


def _launched_at(events: Sequence[Event]) -> float | None:
    starts = [
        event["at"] for event in events if event["event"] == "intent" and event.get("step") == "start-service"
    ]
    return starts[-1] if starts else None
