"""What a command printed on many hosts: equal outputs under the hosts that gave them."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.model.run import RunReport
from fleetops.render.fold import fold
from fleetops.render.plain import safe
from fleetops.render.typed import typed

_GAP = "   "
_STDERR = "2> "

Answer = tuple[int | None, str, str, bool, bool]


def run_json(report: RunReport, command: Command) -> dict[str, Any]:
    """The report as `fleetops.run/1`."""
    return {
        "schema": "fleetops.run/1",
        "command": list(command.argv),
        "answers": [
            {
                "hosts": list(group.hosts),
                "status": group.value[0],
                "stdout": group.value[1],
                "stderr": group.value[2],
                "timed_out": group.value[3],
                "truncated": group.value[4],
                "limit_bytes": command.limit_bytes,
            }
            for group in fold((host, _answer(outcome)) for host, outcome in report.outcomes)
        ],
        "unreachable": [_failure_json(host, error) for host, error in report.failures],
    }


def outcome_line(host: str, outcome: Outcome, command: Command, seconds: float) -> dict[str, Any]:
    """What came of one host, as `fleetops.run-host/1`."""
    return {
        "schema": "fleetops.run-host/1",
        "host": host,
        "status": outcome.status,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "timed_out": outcome.timed_out,
        "truncated": outcome.truncated,
        "limit_bytes": command.limit_bytes,
        "seconds": round(seconds, 3),
    }


def failure_line(host: str, error: FleetopsError) -> dict[str, Any]:
    """The same of a host that gave nothing, or was not begun."""
    return {"schema": "fleetops.run-host/1", **_failure_json(host, error)}


def _failure_json(host: str, error: FleetopsError) -> dict[str, Any]:
    return {"host": host, "error": error.kind, "message": error.message, "hint": error.hint}


def run_screen(report: RunReport, command: Command) -> Iterator[Text | str]:
    """The report for a person, piece by piece: a line with its styles, or all that a host printed, ready to show."""
    groups = fold((host, _answer(outcome)) for host, outcome in report.outcomes)
    failures = fold((host, _failure(host, error)) for host, error in report.failures)
    labels = [group.label for group in groups] + [failure.label for failure in failures]
    column = max(map(len, labels), default=0)
    for place, (group, label) in enumerate(zip(groups, labels, strict=False)):
        if place:
            yield Text()
        yield _header(label.ljust(column), len(group.hosts)).append_text(_ending(group.value, command))
        yield from _body(group.value, command.limit_bytes)
    for place, failure in enumerate(failures):
        if groups or place:
            yield Text()
        kind, message, hint = failure.value
        header = _header(labels[len(groups) + place].ljust(column), len(failure.hosts))
        yield header.append(kind, style="bold magenta")
        yield Text(f"  {safe(message)}")
        if hint:
            yield Text(f"  {safe(typed(hint))}", style="dim")


def _answer(outcome: Outcome) -> Answer:
    return outcome.status, outcome.stdout, outcome.stderr, outcome.timed_out, outcome.truncated


def _failure(host: str, error: FleetopsError) -> tuple[str, str, str]:
    """Without the host's own name, which stands before it, equal failures fold."""
    return error.kind.replace("-", " "), error.message.removeprefix(f"{host}: "), error.hint


def _header(label: str, count: int) -> Text:
    header = Text(label, style="bold").append(_GAP, style="not bold")
    return header.append(f"{count} hosts{_GAP}", style="not bold") if count > 1 else header


def _ending(answer: Answer, command: Command) -> Text:
    status, stdout, stderr, timed_out, truncated = answer
    if status is None:
        ending = Text(f"no end within {command.deadline_s:g} s, and no word since", style="bold magenta")
    elif timed_out:
        ending = Text(f"no end within {command.deadline_s:g} s, ended there", style="bold magenta")
    elif status:
        ending = Text(f"exit {status}", style="bold red")
    else:
        ending = Text("ok" if stdout or stderr else "ok, no output", style="green")
    if truncated:
        ending.append(f"{_GAP}only the first {command.limit_bytes:,} bytes kept", style="yellow")
    return ending


def _body(answer: Answer, limit_bytes: int) -> Iterator[Text | str]:
    """Both streams, each in one piece: what is megabytes long is not laid out line by line."""
    _, stdout, stderr, _, truncated = answer
    for text, mark in ((stdout, "  "), (stderr, f"  {_STDERR}")):
        if text:
            yield mark + safe(text).removesuffix("\n").replace("\n", f"\n{mark}")
        if truncated and _is_full(text, limit_bytes):
            words = f"  ... cut here, after {limit_bytes:,} bytes; the rest was dropped"
            yield Text(words, style="yellow")


def _is_full(text: str, limit_bytes: int) -> bool:
    """Whether this is the stream of which more came than was kept."""
    return len(text.encode("utf-8", "surrogateescape")) >= limit_bytes
