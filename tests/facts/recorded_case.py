"""Recorded cases: raw output of a fact's command, what it must be read as, and where it was recorded.

A case is a folder `tests/facts/FACT/healthy-NAME` or `failing-NAME` with

    stdout, stderr   as they came (scrubbed)
    status           the exit status, or `timed out`
    expected.json    the value, or {"missing": GAP, "why": ...}, with "reason" where the gap has one
    arguments.json   what the fact was built with, where it needs arguments
    source           where the recording comes from
"""

import json
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from fleetops.facts import build
from fleetops.model.command import Outcome
from fleetops.model.fact import Fact, Missing

FOLDER = Path(__file__).parent
TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Case:
    """One recorded case."""

    fact: str
    name: str
    arguments: tuple[Any, ...]
    outcome: Outcome
    expected: Any
    source: str

    @property
    def built(self) -> Fact[Any]:
        return build(self.fact, *self.arguments)


def load_cases() -> list[Case]:
    return [_load(folder) for folder in sorted(FOLDER.glob("*/*/")) if not folder.parent.name.startswith("_")]


def as_json(reading: Any) -> Any:
    """A reading in the form of expected.json."""
    if isinstance(reading, Missing):
        reason = {"reason": reading.reason} if reading.reason else {}
        return {"missing": reading.gap.value, "why": reading.why, **reason}
    if isinstance(reading, tuple):
        return [as_json(one) for one in reading]
    return json.loads(json.dumps(asdict(reading))) if is_dataclass(reading) else reading


def _load(folder: Path) -> Case:
    status = _text(folder / "status").strip()
    arguments = folder / "arguments.json"
    return Case(
        fact=folder.parent.name,
        name=folder.name,
        arguments=tuple(json.loads(arguments.read_text("utf-8"))) if arguments.exists() else (),
        outcome=Outcome(
            status=None if status == TIMED_OUT else int(status),
            stdout=_text(folder / "stdout"),
            stderr=_text(folder / "stderr"),
            timed_out=status == TIMED_OUT,
        ),
        expected=json.loads((folder / "expected.json").read_text("utf-8")),
        source=(folder / "source").read_text("utf-8").strip(),
    )


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")
