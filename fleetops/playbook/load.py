"""Playbook files: YAML, checked like the inventory: all problems at once, each with file:line:column."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from fleetops.checks import all_checks
from fleetops.inventory.containers import ListOf
from fleetops.inventory.document import Entry as Place
from fleetops.inventory.document import Scalar, read_document
from fleetops.inventory.kinds import AsItIs, Choice, Duration, Flip, Kind, Schema, Text, Whole
from fleetops.inventory.problems import DocumentInvalid, Problems, did_you_mean
from fleetops.inventory.record import Field, Reading, Record
from fleetops.model.errors import UsageError
from fleetops.playbook.book import Entry, Playbook, Relaunch
from fleetops.playbook.guards import GUARDS
from fleetops.playbook.parts import missing, part
from fleetops.resources import resource_folder
from fleetops.steps import all_steps, shipped_steps
from fleetops.steps.support.base import Step
from fleetops.steps.support.packages import StepUnusable
from fleetops.steps.support.reclaim import UNTIL_FACTS


class PlaybookInvalid(DocumentInvalid):
    """A playbook file has problems."""

    kind = "playbook-invalid"


@dataclass(frozen=True)
class _Later(AsItIs):
    """A value that is read once the step beside it is known: its options."""

    expected: str = "a mapping of the step's options"

    def read(self, entry: Place, problems: Problems) -> Place | None:
        del problems
        return entry

    def schema(self) -> Schema:
        return {"type": "object"}


@dataclass(frozen=True)
class _StepName(AsItIs):
    """The name of a step; those of packages are looked for only where a file names one that is not shipped."""

    expected: str = "a step's name"

    def read(self, entry: Place, problems: Problems) -> str | None:
        word = entry.text if isinstance(entry, Scalar) else ""
        if word in shipped_steps() or (word and word in all_steps()):
            return word
        return Choice(tuple(all_steps())).read(entry, problems)

    def schema(self) -> Schema:
        return Choice(tuple(all_steps())).schema()


_STEP = Field("step", _StepName(), "which step", required=True)
_OPTIONS = Field("options", cast("Kind[Any]", _Later()), "the step's own options")
_WHEN = Field(
    "when",
    ListOf(Choice(tuple(check.name for check in all_checks() if not check.sweeps_only)), "checks", minimum=1),
    "run only if one of these checks found something certain",
    default=(),
)
_UNTIL = Field(
    "until",
    ListOf(Choice(tuple(UNTIL_FACTS)), "facts", minimum=1),
    "facts that must hold afterwards",
    default=(),
)
_DEADLINE = Field("deadline", Duration(), "how long `until` may take", default=60.0)
_ON_FAILURE = Field(
    "on-failure", Choice(("stop", "next")), "end the run, or go on to the next step", default="stop"
)
ENTRY = Record("a step", (_STEP, _OPTIONS, _WHEN, _UNTIL, _DEADLINE, _ON_FAILURE))
_SUMMARY = Field("summary", Text(), "one line for the list of playbooks", required=True)
_RELAUNCH = Field(
    "relaunch",
    Choice(get_args(Relaunch)),
    "when the steps that start a service are taken",
    default="always",
)
_STEPS = Field("steps", ListOf(ENTRY, "steps", minimum=1), "what is done, in order", required=True)
PLAYBOOK = Record("a playbook", (_SUMMARY, _RELAUNCH, _STEPS))


def shipped_playbook(name: str) -> Playbook:
    """A playbook of the package, by its name. Raises UsageError where there is none."""
    folder = resource_folder("playbooks")
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in folder.glob("*.yaml")))
        raise UsageError(f"there is no playbook {name!r}", hint=f"known playbooks: {known}")
    return load_playbook(path)


def load_playbook(path: Path) -> Playbook:
    """Read and check one file. Raises PlaybookInvalid with every problem in it."""
    problems = Problems()
    place = read_document(path, problems)
    reading = PLAYBOOK.read(place, problems) if place else None
    entries = _entries(reading, problems) if reading else ()
    problems.raise_if_any(f"playbook {path.name}", PlaybookInvalid)
    if reading is None:
        raise UsageError(f"{path} holds no playbook")
    return Playbook(
        name=path.stem,
        summary=reading.need(_SUMMARY),
        entries=entries,
        relaunch=cast("Relaunch", reading.need(_RELAUNCH)),
    )


def _entries(reading: Reading, problems: Problems) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for one in reading.get(_STEPS) or ():
        step = _step(one, problems) if one.get(_STEP) else None
        if step is None:
            continue
        if lacks := missing(step, tuple(entries)):
            problems.add(
                one.mark(_STEP),
                f"{one.path(_STEP)}: {step.name} rests on {', '.join(lacks)}: before it, and without `when`",
            )
        entries.append(_entry(step, one, problems))
    return tuple(entries)


def _step(reading: Reading, problems: Problems) -> Step | None:
    """The step that an entry names; None, and a problem, where a package cannot give it."""
    try:
        step = all_steps()[reading.need(_STEP)]
    except StepUnusable as error:
        problems.add(reading.mark(_STEP), f"{reading.path(_STEP)}: {error.message}")
        return None
    if unknown := [name for name in step.guards if name not in GUARDS]:
        told = f"step {step.name} names guard {unknown[0]}, which there is not"
        problems.add(
            reading.mark(_STEP), f"{reading.path(_STEP)}: {told}", hint=did_you_mean(unknown[0], GUARDS)
        )
        return None
    return step


def _entry(step: Step, reading: Reading, problems: Problems) -> Entry:
    return Entry(
        step=step.name,
        options=_options(step, reading, problems),
        when=reading.get(_WHEN) or (),
        until=reading.get(_UNTIL) or (),
        deadline_s=reading.get(_DEADLINE) or 0.0,
        on_failure=cast("Literal['stop', 'next']", reading.get(_ON_FAILURE) or "stop"),
    )


def _options(step: Step, reading: Reading, problems: Problems) -> dict[str, Any]:
    place = reading.get(_OPTIONS)
    if place is None:
        return {}
    options = step_options(step).read(place, problems)
    return {name: value for name, value in options.values.items() if value is not None} if options else {}


def step_options(step: Step) -> Record:
    """The definition of a step's options, for the loader and the reference."""
    kinds: dict[str, Kind[Any]] = {"duration": Duration(), "whole": Whole(0), "switch": Flip()}
    fields = tuple(
        Field(name, kinds[spec.kind], spec.meaning, default=spec.default)
        for name, spec in step.options.items()
    )
    return Record(f"options of {step.name}", fields)


def measured_fully(book: Playbook) -> Playbook:
    """The playbook with the standard load in place of the short one (`--measure`)."""
    options = {"fully": True, "as-last": False}
    return replace(
        book,
        entries=tuple(
            replace(entry, options={**entry.options, **options}) if entry.step == "await-ready" else entry
            for entry in book.entries
        ),
    )


def without_relaunch(book: Playbook, why: str = "") -> Playbook:
    """The playbook without the steps that bring the service up again; `why` is shown in the plan."""
    kept = tuple(entry for entry in book.entries if not all_steps()[entry.step].relaunches)
    return part(book, kept, why)
