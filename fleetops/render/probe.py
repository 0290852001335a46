"""The screen an operator looks at first: each node's facts in the order an eye needs them, the next command last."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.finding import Finding, Severity
from fleetops.model.guest import GUEST
from fleetops.model.jsonable import jsonable
from fleetops.model.machine import IDENTITY
from fleetops.model.nodeset import fold_names
from fleetops.model.report import Report, Verdict
from fleetops.render.plain import safe
from fleetops.render.probe_rows import probe_rows
from fleetops.render.rows import Row, lay_out, opposite
from fleetops.render.typed import typed

SCHEMA = "fleetops.probe/1"

_VERDICT_STYLE = {
    Verdict.SERVING: "bold green",
    Verdict.IDLE: "bold",
    Verdict.STARTING: "bold yellow",
    Verdict.SILENT: "bold yellow",
    Verdict.UNCLEAN: "bold yellow",
    Verdict.WEDGED: "bold red",
    Verdict.GPU_LOST: "bold red",
    Verdict.ANOTHER: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}
# What an operator acts on first; what is unknown comes before what is well.
_GRAVITY = (Severity.OK, Severity.UNKNOWN, Severity.WARNING, Severity.CRITICAL)
# Checks whose finding a row of facts tells already, with more around it. A check that is not here gets its own row.
_TOLD_BY = {
    "ghost-leaders": "ranks",
    "ranks-dead": "ranks",
    "ranks-in-d-state": "ranks",
    "gpu-count": "GPUs",
    "gpu-failing": "GPUs",
    "gpu-memory-held": "GPUs",
    "gpu-wants-reset": "GPUs",
    "gpu-wants-reboot": "GPUs",
    "memory-low": "memory",
    "memory-missing": "memory",
    "port-held": "port",
    "leftovers": "leftovers",
    "orphans": "service",
    "service-absent": "service",
    "guest-locked": "hypervisor",
    "unreachable": "unknown",
}
_SEVERITY_STYLE = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.UNKNOWN: "magenta"}


def probe_screen(reports: Sequence[Report], width: int) -> Text:
    """All nodes, those that look the same under one headline; blank lines between them."""
    blocks = [Text("\n").join(_block(group, width)) for group in _alike(reports)]
    return Text("\n\n").join(blocks)


def probe_json(reports: Sequence[Report]) -> dict[str, Any]:
    """The same facts for a program: every reading, with what it adds up to, and the findings over all hosts."""
    return {
        "schema": SCHEMA,
        "hosts": [_host_json(report) for report in reports],
        "findings": [jsonable(finding) for report in reports for finding in report.findings],
    }


def _host_json(report: Report) -> dict[str, Any]:
    body: dict[str, Any] = {"host": report.node.name, "verdict": report.summary.verdict.value}
    observation = report.observation
    if observation is None:
        return body | {"error": report.error, "hint": report.hint}
    outside = observation.hypervisor_facts
    return body | {
        "engine": jsonable(observation.node_facts.value(ENGINE_SOURCE)),
        "summary": jsonable(report.summary),
        "services": jsonable(observation.services),
        "baseline": jsonable(observation.baseline),
        "facts": jsonable(observation.node_facts.readings),
        "at": observation.node_facts.at,
        "hypervisor": {"host": outside.host, "facts": jsonable(outside.readings)} if outside else None,
        "error": report.error,
        "hint": report.hint,
    }


def _alike(reports: Sequence[Report]) -> list[list[Report]]:
    """Reports whose screens differ in the node's name and uptime at most, in the order of the first of each."""
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(_appearance(report), []).append(report)
    return list(groups.values())


def _appearance(report: Report) -> str:
    lines = [_state(report).plain, *(line.plain for line in _body([report], 200))]
    name, hypervisor = report.node.name, report.node.hypervisor
    text = "\n".join(lines).replace(name, "NODE")
    return text.replace(hypervisor, "HYPERVISOR") if hypervisor else text


def _block(group: Sequence[Report], width: int) -> list[Text]:
    """One headline and its rows for nodes that look the same."""
    names = fold_names(report.node.name for report in group)
    head = Text(names, style="bold").append("   ", style="").append_text(_state(group[0]))
    place = _place(group[0]) if len(group) == 1 else f"{len(group)} nodes, the same on each"
    return [opposite(head, place, width), *_body(group, width)]


def _state(report: Report) -> Text:
    observation = report.observation if report.summary.verdict is not Verdict.ANOTHER else None
    source = observation.node_facts.value(ENGINE_SOURCE) if observation else None
    running = observation.services[0].engine if observation and observation.services else ""
    version = source.version if source and running in {"", source.engine} else ""
    title = (report.engine_title or report.node.engine) if source or running else ""
    engine = Text(f"{title} {safe(version)}".strip(), style="not bold")
    state = Text(report.summary.verdict.value, style=_VERDICT_STYLE[report.summary.verdict])
    return engine.append(", ").append_text(state) if engine else state


def _place(report: Report) -> str:
    """Where the node lives, how its hypervisor sees it, and since when it is up."""
    observation, node = report.observation, report.node
    words = [
        "bare metal"
        if node.guest is None
        else f"guest {node.guest.id} ({node.guest.kind}) on {node.hypervisor}"
    ]
    if observation is not None:
        outside = observation.hypervisor_facts
        guest = outside.value(GUEST) if outside else None
        if node.guest is not None:
            words.append(safe(guest.status) if guest else "state unknown")
        identity = observation.node_facts.value(IDENTITY)
        if identity is not None and report.summary.verdict is not Verdict.ANOTHER:
            words.append(f"up {show_duration(identity.uptime_s)}")
    return ", ".join(words)


def _body(group: Sequence[Report], width: int) -> list[Text]:
    rows = list(_rows(group[0]))
    lines = [Text(), *lay_out(rows, width)] if rows else []
    commands = list(dict.fromkeys(_next_commands(group)))
    return (
        [*lines, Text(), *(Text(f"  {safe(typed(command))}", style="bold") for command in commands)]
        if commands
        else lines
    )


def _rows(report: Report) -> Iterator[Row]:
    """The facts, each label in the colour of the worst that the checks found there, then what no fact row tells."""
    if report.observation is None:
        yield Row(label="unknown", says=report.error, style=_SEVERITY_STYLE[Severity.UNKNOWN])
        return
    facts = probe_rows(report)
    labels = {row.label for row in facts}
    worst: dict[str, Severity] = {}
    for finding in reversed(report.findings):
        worst[_told_by(finding, report)] = finding.severity
    for row in facts:
        yield replace(row, style=_SEVERITY_STYLE.get(worst.get(row.label, Severity.OK), ""))
    for finding in report.findings:
        if _told_by(finding, report) not in labels - {""}:
            style = _SEVERITY_STYLE.get(finding.severity, "")
            yield Row(label=finding.severity.word, says=finding.subject, note=finding.evidence, style=style)


def _told_by(finding: Finding, report: Report) -> str:
    """The label of the row that tells a finding already; "" for a check that this screen does not know."""
    if finding.severity is Severity.UNKNOWN:
        return "unknown"
    label = _TOLD_BY.get(finding.check, "")
    return report.node.hypervisor if label == "hypervisor" else label


def _next_commands(group: Sequence[Report]) -> Iterator[str]:
    """What the worst findings of each node call for; a larger remedy does what a smaller one would.

    Where a person has to do something first, no command beside it would help.
    """
    for report in group:
        named = [finding for finding in report.findings if finding.next and not _is_this_screen(finding)]
        gravest = max((_GRAVITY.index(finding.severity) for finding in named), default=0)
        following = [finding.next for finding in named if _GRAVITY.index(finding.severity) == gravest]
        yield from [one for one in following if not one.startswith("fleetops ")] or following
        if report.hint:
            yield report.hint


def _is_this_screen(finding: Finding) -> bool:
    return finding.next.split()[:2] == ["fleetops", "probe"]
