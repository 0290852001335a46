"""One cell: a node is broken, probed, recovered; what happened is told and held against the expectation."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import Ran

from recovery_matrix.also import ALSO
from recovery_matrix.bench import NEIGHBOUR, NODES, Bench
from recovery_matrix.expected import ENDS, RUNGS, Expected, expected


@dataclass
class Cell:
    """What came of one breakage on one platform.

    Attributes:
        found: the checks that found something; unknown: how many could not tell.
        rungs: those that changed something.
        verified: what was looked at afterwards and was as it should be.
        faults: what was not as expected.
        story: the run's steps as its journal has them, for whoever looks into a fault.
    """

    platform: str
    breakage: str
    found: tuple[str, ...] = ()
    unknown: int = 0
    status: int | None = None
    guard: str = ""
    why: str = ""
    rungs: tuple[int, ...] = ()
    verified: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def node(self) -> str:
        """The lab's node of that platform."""
        return NODES[self.platform]

    def expect(self, holds: bool, verified: str, fault: str) -> None:
        """Note one or the other."""
        (self.verified if holds else self.faults).append(verified if holds else fault)


def spoken(rungs: tuple[int, ...]) -> str:
    """Rungs for a person."""
    if not rungs:
        return "no rung"
    return f"rung{'s' if len(rungs) > 1 else ''} {' and '.join(map(str, rungs))}"


def run_cell(bench: Bench, platform: str, breakage: str) -> Cell:
    """Break, probe, recover, judge. What cannot be run at all is a fault of the cell."""
    cell, began = Cell(platform, breakage), time.monotonic()
    try:
        _run(bench, cell, expected(breakage, platform))
    except Exception as error:  # noqa: BLE001 - the matrix goes on, and shows it
        cell.faults.append(f"{type(error).__name__}: {error}")
    cell.seconds = time.monotonic() - began
    return cell


def _run(bench: Bench, cell: Cell, wanted: Expected) -> None:
    neighbour = bench.services(NEIGHBOUR)
    bench.break_node(cell.node, cell.breakage)
    bystander = bench.node(cell.node).spawn("sleep", "600")
    before = ALSO[cell.breakage].before(bench, cell.node) if cell.breakage in ALSO else None
    probed = bench.probe(cell.node)
    found = probed.json["findings"] if probed.stdout else []
    certain = [one["check"] for one in found if one["severity"] != "unknown"]
    cell.found = tuple(dict.fromkeys(certain))
    cell.unknown = len({one["check"] for one in found} - {*certain})
    ran = bench.recover(cell.node)
    told = _told(ran)
    cell.status, cell.guard = ran.status, told.get("guard") or ""
    cell.why = told.get("why") or told.get("message") or ""
    events = _journal(told)
    changes = [event for event in events if event["event"] == "intent"]
    cell.story = [_line(event) for event in events if event["event"] in {"intent", "step-end"}]
    cell.rungs = tuple(sorted({RUNGS[one["step"]] for one in changes if one["step"] in RUNGS}))
    _judge(cell, wanted, [one["step"] for one in changes])
    _verify(bench, cell, wanted, told)
    _look_round(bench, cell, neighbour, bystander)
    if cell.breakage in ALSO:
        cell.expect(*ALSO[cell.breakage].after(bench, cell.node, before))


def _told(ran: Ran) -> dict[str, Any]:
    """The result; of a run that was refused before it began, the error."""
    text = ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]
    told: dict[str, Any] = json.loads(text)
    return told


def _journal(told: dict[str, Any]) -> list[dict[str, Any]]:
    """What the run wrote down; nothing where none began."""
    if not told.get("evidence"):
        return []
    return [json.loads(line) for line in (Path(told["evidence"]) / "journal.jsonl").read_text().splitlines()]


def _line(event: dict[str, Any]) -> str:
    if event["event"] == "intent":
        return f"{event['step']}: {event['host']}: {event['why']}"
    return f"{event['step']} {event['status']}: {event['detail']}"


def _judge(cell: Cell, wanted: Expected, steps: list[str]) -> None:
    """How it ended, by which rung, and whether it said why."""
    missing = [check for check in wanted.found if check not in cell.found]
    cell.expect(not missing, "", f"probe does not name {', '.join(missing)}")
    ended = f"{ENDS.get(cell.status or 0, '')} (exit {cell.status})"
    cell.expect(cell.status == wanted.status, "", f"{ended}, exit {wanted.status} was expected: {cell.why}")
    if cell.status == wanted.status:
        cell.expect(cell.rungs == wanted.rungs, "", f"{spoken(cell.rungs)}, {spoken(wanted.rungs)} expected")
        cell.expect(
            cell.guard == wanted.guard, "", f"guard {cell.guard or 'none'}, not {wanted.guard or 'none'}"
        )
        cell.expect(wanted.says in cell.why, "", f"the reason does not say {wanted.says!r}: {cell.why}")
        started = "start-service" in steps
        cell.expect(
            started == wanted.relaunch, "", "a service was started" if started else "nothing was started"
        )
    if not wanted.rungs and not wanted.relaunch:
        cell.expect(not steps, "nothing changed", f"changed something: {', '.join(dict.fromkeys(steps))}")


def _verify(bench: Bench, cell: Cell, wanted: Expected, told: dict[str, Any]) -> None:
    """The table of what came back, and the service itself."""
    rows = told.get("reclaimed") or []
    left = [row["name"] for row in rows if not row["ok"]]
    if wanted.status == 0 and not wanted.well:
        cell.expect(
            bool(rows) and not left,
            f"all {len(rows)} rows back",
            f"not back: {', '.join(left) or 'no table'}",
        )
    if wanted.status == 0:
        cell.expect(bench.generates(cell.node), "generates again", "the service does not generate")
    if wanted.noted:
        notes = "; ".join(filter(None, (row.get("note") for row in rows)))
        cell.expect(
            wanted.noted in notes,
            f"the idle state is {notes}",
            f"where the idle state comes from: {notes or 'not told'}",
        )
    if wanted.status and wanted.relaunch:
        cell.expect(bench.services(cell.node) == [], "ended, nothing left", "what was started is still there")


def _look_round(bench: Bench, cell: Cell, neighbour: list[tuple[int, str]], bystander: int) -> None:
    """Who has nothing to do with it: the neighbour's service, and a process on the node where that was not restarted."""
    same = bench.services(NEIGHBOUR) == neighbour and bench.generates(NEIGHBOUR)
    cell.expect(same, "neighbour untouched", f"the service on {NEIGHBOUR} is not as it was")
    if 4 not in cell.rungs:
        there = (
            bench.node(cell.node).run("sh", "-c", f"cat /proc/{bystander}/comm 2>/dev/null || true").strip()
        )
        cell.expect(there == "sleep", "bystander lives", "a process that is nobody's business was ended")
