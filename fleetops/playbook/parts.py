"""A part of a playbook (`--from`, `--only`, no relaunch): what is left out is said, and what a step rests on is not."""

from dataclasses import replace

from fleetops.inventory.problems import did_you_mean
from fleetops.model.errors import UsageError
from fleetops.model.policy import RUNGS
from fleetops.playbook.book import Entry, Playbook
from fleetops.steps import all_steps
from fleetops.steps.support.base import Step


def from_step(book: Playbook, step: str) -> Playbook:
    """The playbook from the first step of that name on. Raises UsageError."""
    at = _first(book, step)
    return part(book, book.entries[at:], f"--from {step}")


def only_step(book: Playbook, step: str) -> Playbook:
    """The playbook's steps of that name, with their options, `when` and `until`. Raises UsageError."""
    _first(book, step)
    kept = tuple(entry for entry in book.entries if entry.step == step)
    return part(book, kept, f"--only {step}")


def up_to_rung(book: Playbook, rung: int, why: str) -> Playbook:
    """The playbook without the rungs above that one; what they would have healed fails the verification, and says so.

    `why` stands in the plan and in the journal, also where nothing is left out.
    """
    above = {step for number, step in RUNGS.items() if number > rung}
    kept = tuple(entry for entry in book.entries if entry.step not in above)
    if len(kept) == len(book.entries):
        return replace(book, left_out=why)
    return part(book, kept, f"{why}, up to rung {rung}")


def missing(step: Step, before: tuple[Entry, ...]) -> tuple[str, ...]:
    """What this step rests on, and no step before it does in every run: a step with `when` may be skipped."""
    done = {entry.step for entry in before if not entry.when}
    return tuple(name for name in step.needs if name not in done)


def _first(book: Playbook, step: str) -> int:
    names = [entry.step for entry in book.entries]
    if step not in names:
        there = ", ".join(dict.fromkeys(names))
        raise UsageError(
            f"playbook {book.name} has no step {step!r}",
            hint=did_you_mean(step, names) or f"its steps: {there}",
        )
    return names.index(step)


def part(book: Playbook, kept: tuple[Entry, ...], why: str) -> Playbook:
    """The playbook with these of its entries. Raises UsageError where one rests on what is left out."""
    if len(kept) == len(book.entries):
        return book
    for at, entry in enumerate(kept):
        if lacks := missing(all_steps()[entry.step], kept[:at]):
            raise UsageError(
                f"{why or 'no relaunch'} leaves out {', '.join(lacks)}, which {entry.step} rests on",
                hint=f"start with {lacks[0]}: --from {lacks[0]}",
            )
    if not why:
        return replace(book, entries=kept)
    names = [entry.step for entry in kept]
    gone = dict.fromkeys(entry.step for entry in book.entries if entry.step not in names)
    told = f"{why}: {', '.join(gone) or 'some steps'} left out"
    return replace(book, entries=kept, left_out="; ".join(filter(None, (book.left_out, told))))
