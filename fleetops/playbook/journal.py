"""The write-ahead record of a run: every change is on disk, synced, before it is made, and its outcome after."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.model.record import RunSummary
from fleetops.model.secrets import mask_argv, mask_text, masked
from fleetops.playbook.lock import Owner

_KEPT_OUTPUT = 4000
CUT_OFF, _TAKEN_OVER = "unfinished", "taken-over"


class Journal:
    """One run's folder: `journal.jsonl` (one event a line) and the evidence beside it. All private (0600)."""

    def __init__(self, state: Path, run_id: str) -> None:
        self.run_id = run_id
        self.folder = state / "runs" / run_id
        try:
            self.folder.mkdir(mode=0o700, parents=True)
            self._file = os.open(
                self.folder / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600
            )
        except OSError as error:
            raise FleetopsError(
                f"cannot write the journal in {self.folder}: {error.strerror}; nothing was changed",
                hint="free some disk or choose another state folder (FLEETOPS_STATE)",
            ) from error

    def write(self, event: str, at: float, **body: Any) -> None:
        """Append one event, secrets masked, and wait until it is on disk. Lines of an engine's source are no secrets."""
        told = body if event == "proofs" else masked(body)
        line = json.dumps({"at": round(at, 3), "event": event, **told}, ensure_ascii=True, default=str) + "\n"
        left = line.encode()
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            raise FleetopsError(
                f"cannot write the journal of {self.run_id}: {error.strerror}; nothing more is changed",
                hint="free some disk, then run the same command again: it reads the facts anew",
            ) from error

    def keep(self, name: str, text: str) -> Path:
        """Keep a piece of evidence, secrets masked, under a name of its own; an older one is never overwritten."""
        return self._put(name, mask_text(text))

    def keep_json(self, name: str, body: Any, known: Iterable[str] = ()) -> Path:
        """The same for what JSON can hold: it is masked string by string, and of `known` secrets, and stays JSON."""
        return self._put(name, json.dumps(masked(body, tuple(known)), indent=1) + "\n")

    def _put(self, name: str, text: str) -> Path:
        path = self.folder / re.sub(r"[^\w.-]+", "-", name)
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(text)
        except OSError as error:
            raise FleetopsError(f"cannot keep {path}: {error.strerror}") from error
        return path

    def close(self) -> None:
        """No more events."""
        os.close(self._file)


def command_entry(host: str, command: Command) -> dict[str, Any]:
    """A command as the journal keeps it: secrets masked, standard input only by its length."""
    return {
        "host": host,
        "argv": list(mask_argv(command.argv)),
        "stdin_chars": len(command.stdin),
        "root": command.root,
    }


def outcome_entry(outcome: Outcome) -> dict[str, Any]:
    """An outcome as the journal keeps it."""
    return {
        "status": outcome.status,
        "timed_out": outcome.timed_out,
        "stdout": mask_text(outcome.stdout[-_KEPT_OUTPUT:]),
        "stderr": mask_text(outcome.stderr[-_KEPT_OUTPUT:]),
        "seconds": round(outcome.duration_s, 3),
    }


def read_events(folder: Path) -> list[Mapping[str, Any]]:
    """A run's events. What comes from a line on that is no event, as one that was cut off by a crash, is left out."""
    events: list[Mapping[str, Any]] = []
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            break
        if (
            not isinstance(event, dict)
            or "event" not in event
            or not isinstance(event.get("at"), int | float)
        ):
            break
        events.append(event)
    return events


def list_runs(state: Path) -> list[RunSummary]:
    """Every run in the state folder, newest first."""
    folders = sorted((state / "runs").glob("*/journal.jsonl"), reverse=True)
    summaries = (summarise(path.parent) for path in folders)
    runs = sorted((one for one in summaries if one), key=lambda run: run.started_at, reverse=True)
    return _taken_over(runs)


def _taken_over(runs: list[RunSummary]) -> list[RunSummary]:
    """Runs that others went on from are told as that: finished, where one of those has ended well."""
    later: dict[str, RunSummary] = {}
    told = []
    for run in runs:
        by = later.get(run.run_id)
        told.append(_gone_on_from(run, by))
        if run.continues and run.status != "refused":
            later.setdefault(run.continues, by if by and by.status == "done" else run)
    return told


def _gone_on_from(run: RunSummary, by: RunSummary | None) -> RunSummary:
    if by is None or run.status not in {CUT_OFF, "interrupted"}:
        return run
    why = f"run {by.run_id} went on from it: {by.status}"
    return replace(run, status=_TAKEN_OVER if by.status == "done" else run.status, why=why)


def note_as_finished(folder: Path, at: float, why: str) -> None:
    """Write into the journal of a run that was cut off that nothing of it is left to do. Raises FleetopsError."""
    line = json.dumps({"at": round(at, 3), "event": "closed", "why": why}) + "\n"
    try:
        path = folder / "journal.jsonl"
        # A last line that a crash has cut off goes: it was never read.
        whole = path.read_bytes().rpartition(b"\n")[0]
        with path.open("r+b") as file:
            file.truncate(len(whole) + 1 if whole else 0)
            file.seek(0, os.SEEK_END)
            file.write(line.encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise FleetopsError(f"cannot write the journal in {folder}: {error.strerror}") from error


def summarise(folder: Path) -> RunSummary | None:
    """One run as its journal tells it; None where that holds no event.

    Of one that was cut off, status `unfinished`, nobody has gone on from it as far as this journal alone can tell.
    """
    return summary_of(folder.name, read_events(folder))


def summary_of(run_id: str, events: Sequence[Mapping[str, Any]]) -> RunSummary | None:
    """The same, of events that have been read."""
    if not events:
        return None
    begin, last = events[0], events[-1]
    status, why = _ending(begin, last)
    return RunSummary(
        run_id=run_id,
        playbook=begin.get("playbook", "?"),
        node=begin.get("node", "?"),
        started_at=begin["at"],
        ended_at=None if status == "running" else last["at"],
        status=status,
        why=why,
        continues=begin.get("continues", ""),
    )


def _ending(begin: Mapping[str, Any], last: Mapping[str, Any]) -> tuple[str, str]:
    """How a run ended and why; one without an end is running, or was cut off: by its process where that can be told."""
    if last["event"] == "end":
        return last.get("status", "?"), last.get("why", "")
    if last["event"] == "closed":
        return _TAKEN_OVER, last.get("why", "")
    try:
        owner = Owner(**begin["by"])
    except (KeyError, TypeError):
        owner = None
    if owner and owner.is_here and not owner.is_gone:
        return "running", f"pid {owner.pid}"
    return CUT_OFF, f"cut off after it wrote down: {named(last)}; run it again, it reads the facts anew"


def named(event: Mapping[str, Any]) -> str:
    """An event by its own name, and its step's."""
    return f"{event['event']} of {event['step']}" if "step" in event else str(event["event"])
