"""The deep lab's matrix: a test that takes `cell` is a cell of it, and all of them are shown, whatever came of them."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import Ran
from recovery_matrix.cell import spoken
from recovery_matrix.expected import RUNGS

from fleetops.render.table import columns

_TOLD = ("found", "by", "verified")
_MOST = 120
_COLUMNS = ("broken", "probe finds", "healed by", "s", "verified")


@dataclass(frozen=True)
class Cell:
    """What a test tells of its cell as it goes, so that one which fails shows how far it came."""

    record: Callable[[str, object], None]

    def finds(self, found: Collection[str]) -> Collection[str]:
        """The checks that probe named; handed through."""
        self.record("found", ", ".join(sorted(found)))
        return found

    def ended(self, ran: Ran) -> None:
        """By which rungs, or what refused it, as the run's own journal tells."""
        told = json.loads(ran.stdout.strip() or ran.stderr.strip().splitlines()[-1])
        journal = Path(told["evidence"], "journal.jsonl") if told.get("evidence") else None
        events = [json.loads(line) for line in journal.read_text().splitlines()] if journal else []
        steps = [event["step"] for event in events if event["event"] == "intent"]
        by = spoken(tuple(sorted({RUNGS[step] for step in steps if step in RUNGS})))
        if ran.status == 0:
            self.by(f"{by}, {len(steps)} changes" if steps else "nothing to heal")
        else:
            refused = f"refused by {told['guard']}" if told.get("guard") else told.get("error", "failed")
            self.by(f"{refused} (exit {ran.status}), {f'after {by}' if steps else 'nothing changed'}")

    def by(self, what: str) -> None:
        """What healed it, where that is no rung."""
        self.record("by", what)

    def verified(self, what: str) -> None:
        """What the test has seen for itself on the node's kernel and its host."""
        self.record("verified", what)


def title(test: str) -> str:
    """What is broken, in the words of the test's name."""
    name, bracket, rate = test.partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words} ({rate.rstrip(']')} MB/s)" if bracket else words


def table(cells: Mapping[str, str], reports: Collection[pytest.TestReport]) -> list[str]:
    """The matrix, a line for a cell and one for the sum. `cells`: test -> its title; `reports`: all that was reported."""
    rows = [(name, *_row([one for one in reports if one.nodeid == test])) for test, name in cells.items()]
    held = sum(holds for _, holds, _ in rows)
    shown = columns([_COLUMNS, *((name, *row) for name, _, row in rows)], right=(3,))
    return [*shown.plain.splitlines(), f"{held} of {len(rows)} cells hold"]


def _row(reports: Collection[pytest.TestReport]) -> tuple[bool, tuple[str, ...]]:
    """Whether it holds, and what is shown beside its title."""
    told = {str(name): str(value) for one in reports for name, value in one.user_properties}
    found, by, verified = (told.get(name, "") for name in _TOLD)
    ran = next((one for one in reports if one.when == "call"), None)
    against = next((one for one in reports if not one.passed), None)
    if against is not None:
        verified = _against(against)
    elif ran is None:
        verified = "was not run"
    seconds = f"{ran.duration:.0f}" if ran else ""
    return ran is not None and against is None, (found or "-", by or "-", seconds, verified)


def _against(report: pytest.TestReport) -> str:
    """Why it was skipped, or the first line of what it failed with."""
    if isinstance(report.longrepr, tuple):
        return f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
    lines = report.longreprtext.splitlines()
    why = next((line.removeprefix("E ") for line in lines if line.startswith("E ")), lines[-1])
    return f"DOES NOT HOLD: {' '.join(why.split())[:_MOST]}"
