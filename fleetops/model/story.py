"""A run as it is told afterwards: what was seen, planned, done and verified, in the order in which it was written down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fleetops.model.finding import Finding
from fleetops.model.record import LaunchRecord, ReclaimRow, RunSummary

# `lost`: the connection broke, so that the facts had to tell; `unknown`: no outcome is written down; `under way`: not yet.
ChangeOutcome = Literal["done", "failed", "no answer", "lost", "unknown", "under way"]


@dataclass(frozen=True, kw_only=True)
class ToldChange:
    """One change as the journal holds it, secrets masked.

    Attributes:
        at_s: seconds from the run's start to its intent; `seconds`: how long it took, None where that is not known.
        argv: the command, with the whole script of one that is a script.
        said: what it said where it did not work, and how often it had to be made again.
    """

    at_s: float
    host: str
    why: str
    argv: tuple[str, ...]
    outcome: ChangeOutcome
    said: str = ""
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class ToldStep:
    """One step with its changes; reads are not told.

    Attributes:
        at_s: seconds from the run's start; `seconds`: how long it took, None where its end is not written down.
        status: done, skipped, failed or refused; "" where its end is not written down.
    """

    step: str
    title: str
    host: str
    at_s: float
    seconds: float | None
    status: str
    detail: str
    changes: tuple[ToldChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToldPlan:
    """One step of the plan that was agreed to, as in `model.plan.PlannedStep`."""

    step: str
    title: str
    host: str = ""
    detail: str = ""
    condition: str = ""
    skip: str = ""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A whole run. What older journals do not hold is None.

    Attributes:
        seconds: from its start to its end, or to what was written down last.
        by: who ran it, from where.
        versions: what was at work: fleetops, the engine, the driver.
        findings: what the checks had found when the run began; `facts`: how the node was then (`before`), beside its idle
            state.
        last: what was written down last, in words, and `last_at_s` when.
        next: what to type next.
        kept: the names of the files in the run's folder, journal included.
    """

    run: RunSummary
    seconds: float
    by: str = ""
    profile: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    waived: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] | None = None
    facts: tuple[ReclaimRow, ...] | None = None
    planned: tuple[ToldPlan, ...] | None = None
    touches: str = ""
    steps: tuple[ToldStep, ...] = ()
    reclaimed: tuple[ReclaimRow, ...] = ()
    launched: LaunchRecord | None = None
    previous: LaunchRecord | None = None
    guard: str = ""
    last: str = ""
    last_at_s: float = 0.0
    next: str = ""
    kept: tuple[str, ...] = ()
    folder: str = ""

    @property
    def open_changes(self) -> tuple[ToldChange, ...]:
        """The changes of which nobody knows whether they were made, or that are being made."""
        changes = (change for step in self.steps for change in step.changes)
        return tuple(change for change in changes if change.outcome in {"unknown", "under way"})


@dataclass(frozen=True, kw_only=True)
class BundleMember:
    """One file of a bundle; `note` says what is not in it."""

    name: str
    size_bytes: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """The evidence of a run, packed: what is inside, and what is missing with the reason, as far as it is known."""

    path: str
    size_bytes: int
    members: tuple[BundleMember, ...]
    missing: Mapping[str, str]
