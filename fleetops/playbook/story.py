"""A run's journal as a story: seen, planned, done, verified, ended. Older journals hold less, and are told with what they have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from fleetops.model.finding import Finding, Severity
from fleetops.model.record import Capacity, LaunchRecord, ReclaimRow, RunSummary
from fleetops.model.secrets import mask_known, masked
from fleetops.model.story import ChangeOutcome, Story, ToldChange, ToldPlan, ToldStep
from fleetops.playbook.journal import read_events

Event = Mapping[str, Any]
_SEVERITIES = {one.word: one for one in Severity}


def tell_story(folder: Path, run: RunSummary, known: Iterable[str] = (), later: str = "") -> Story:
    """The story of the run in that folder; `run` is how it is listed, with the state that other runs have brought it into.

    `later` is the run that went on from it, where there is one. Secrets go: what looks like one, and those that are `known`
    as such.
    """
    events = [mask_event(event, known) for event in read_events(folder)]
    begin, last = events[0], events[-1]
    planned = _planned(begin)
    end = last if last["event"] == "end" else {}
    told: Event = next((event for event in reversed(events) if event["event"] == "reclaimed"), {})
    return Story(
        run=without_secrets(run, known),
        seconds=last["at"] - begin["at"],
        by=_by(begin.get("by") or {}),
        profile=begin.get("profile", ""),
        versions=begin.get("versions", {}),
        waived=begin.get("waived", {}),
        findings=_findings(begin),
        facts=_rows(begin["facts"]) if "facts" in begin else None,
        planned=planned,
        touches=begin.get("touches", ""),
        steps=_steps(events, planned or (), run.status == "running"),
        reclaimed=_rows(told.get("rows", ())),
        launched=_launch(events, run, "capacity"),
        previous=_launch(events, run, "previous"),
        guard=end.get("guard", ""),
        last=_in_words(last),
        last_at_s=last["at"] - begin["at"],
        next=f"fleetops runs show {later}" if later else _next(run, end.get("hint", "")),
        kept=tuple(sorted(path.name for path in folder.iterdir())),
        folder=str(folder),
    )


def without_secrets(run: RunSummary, known: Iterable[str] = ()) -> RunSummary:
    """How it ended may be told by a line of a log."""
    return replace(run, why=masked(run.why, tuple(known)))


def mask_event(event: Event, known: Iterable[str] = ()) -> dict[str, Any]:
    """An event without secrets. Of what was proven, lines of an engine's source, only what is known to be secret goes."""
    is_source = event.get("event") == "proofs"
    told: dict[str, Any] = (_known_only if is_source else masked)(event, tuple(known))
    return told


def _known_only(body: Any, known: Sequence[str]) -> Any:
    if isinstance(body, str):
        return mask_known(body, known)
    if isinstance(body, Mapping):
        return {key: _known_only(value, known) for key, value in body.items()}
    return [_known_only(one, known) for one in body] if isinstance(body, list) else body


def _by(owner: Mapping[str, Any]) -> str:
    return (
        f"{owner.get('user', '?')} on {owner.get('controller', '?')} (pid {owner.get('pid', '?')})"
        if owner
        else ""
    )


def _findings(begin: Event) -> tuple[Finding, ...] | None:
    if "findings" not in begin:
        return None
    names = ("host", "check", "subject", "evidence", "next")
    return tuple(
        Finding(
            severity=_SEVERITIES.get(one.get("severity"), Severity.UNKNOWN),
            **{name: str(one.get(name, "")) for name in names},
        )
        for one in begin["findings"]
    )


def _planned(begin: Event) -> tuple[ToldPlan, ...] | None:
    if "planned" not in begin:
        return None
    names = [field.name for field in fields(ToldPlan)]
    return tuple(ToldPlan(**{name: str(one.get(name, "")) for name in names}) for one in begin["planned"])


def _rows(rows: Iterable[Mapping[str, Any]]) -> tuple[ReclaimRow, ...]:
    names = ("name", "fact", "before", "after", "idle", "note")
    return tuple(
        ReclaimRow(ok=row.get("ok"), **{name: str(row.get(name, "")) for name in names}) for row in rows
    )


def _steps(events: Sequence[Event], planned: Sequence[ToldPlan], is_running: bool) -> tuple[ToldStep, ...]:
    """Each step from its start to the next one's; what is changed before the first or after the last belongs to none."""
    starts = [number for number, event in enumerate(events) if event["event"] == "step"]
    titles = {one.step: one for one in planned}
    return tuple(
        _step(events[here:there], events[0]["at"], titles, is_running and there == len(events))
        for here, there in pairwise([*starts, len(events)])
    )


def _step(events: Sequence[Event], began: float, titles: Mapping[str, ToldPlan], goes_on: bool) -> ToldStep:
    first = events[0]
    name = first.get("step", "?")
    end = next((event for event in events if event["event"] == "step-end"), None)
    plan = titles.get(name)
    return ToldStep(
        step=name,
        title=plan.title if plan else name.replace("-", " "),
        host=plan.host if plan else "",
        at_s=first["at"] - began,
        seconds=end["at"] - first["at"] if end else None,
        status=end.get("status", "") if end else "",
        detail=end.get("detail", "") if end else "",
        changes=_changes(events, began, goes_on and end is None),
    )


def _changes(events: Sequence[Event], began: float, goes_on: bool) -> tuple[ToldChange, ...]:
    """Each intent with the outcome that was written down next; one without is unknown, or still under way."""
    told = [event for event in events if event["event"] in {"intent", "outcome"}]
    found = []
    for number, event in enumerate(told):
        if event["event"] != "intent":
            continue
        after = told[number + 1] if number + 1 < len(told) else {}
        ended = after if after.get("event") == "outcome" else None
        found.append(_change(event, ended, began, "under way" if goes_on and not after else "unknown"))
    return tuple(found)


def _change(intent: Event, ended: Event | None, began: float, otherwise: ChangeOutcome) -> ToldChange:
    outcome, said = _outcome(ended) if ended else (otherwise, "")
    if times := ended.get("again", 0) if ended else 0:
        again = f"made again {'once' if times == 1 else f'{times} times'}: the connection broke before it had begun"
        said = f"{again}; {said}" if said else again
    return ToldChange(
        at_s=intent["at"] - began,
        host=intent.get("host", "?"),
        why=intent.get("why", ""),
        argv=tuple(map(str, intent.get("argv", ()))),
        outcome=outcome,
        said=said,
        seconds=ended.get("seconds", ended["at"] - intent["at"]) if ended else None,
    )


def _outcome(ended: Event) -> tuple[ChangeOutcome, str]:
    if "lost" in ended:
        return "lost", str(ended["lost"])
    if ended.get("timed_out") or ended.get("status") is None:
        return "no answer", "no answer within its deadline"
    if ended["status"] == 0:
        return "done", ""
    lines = [
        line.strip()
        for line in str(ended.get("stderr") or ended.get("stdout") or "").splitlines()
        if line.strip()
    ]
    return "failed", f"status {ended['status']}" + (f": {lines[-1]}" if lines else "")


def _launch(events: Sequence[Event], run: RunSummary, which: str) -> LaunchRecord | None:
    """What was launched (`capacity`), or the last good launch before (`previous`), where it is written down."""
    event = next((one for one in reversed(events) if one["event"] == "launched"), None)
    if event is None or not event.get(which):
        return None
    profile, of = event.get("profile") or events[0].get("profile", ""), event[which]
    if which == "previous":
        profile, of = of.get("profile", ""), of.get("capacity", {})
    names = {field.name for field in fields(Capacity)}
    capacity = Capacity(**{name: value for name, value in of.items() if name in names})
    return LaunchRecord(node=run.node, profile=profile, at=event["at"], run_id=run.run_id, capacity=capacity)


def _in_words(event: Event) -> str:
    """An event as a person would say it."""
    step, host = event.get("step", "a step"), event.get("host", "?")
    words = {
        "begin": "that it began",
        "locked": f"that it holds the lock on {host}",
        "step": f"that {step} begins",
        "intent": f"that {step} is about to change {host}: {event.get('why', '')}",
        "outcome": f"what came of a change of {step}",
        "step-end": f"that {step} has ended: {event.get('status', '')}",
        "unlocked": f"that it gave back the lock on {host}",
        "end": f"its end: {event.get('status', '')}",
    }
    return words.get(event["event"], f"{event['event']}{f' of {step}' if 'step' in event else ''}")


def _next(run: RunSummary, hint: str) -> str:
    """What to type, by how the run stands."""
    if hint:
        return hint
    if run.status == "running":
        return f"fleetops runs show {run.run_id}"
    if run.status == "unfinished" and run.playbook == "recover":
        return f"fleetops recover {run.node}"
    return f"fleetops probe {run.node}"
