"""The exit codes of every command; the table in the documentation is generated from here."""

from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit status says."""

    FINE = 0
    FINDINGS = 1
    USAGE = 2
    UNKNOWN = 3
    FAILED = 4
    REFUSED = 5
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One line for the documentation."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.FINE: "fine",
    Exit.FINDINGS: "findings, no match, or (`run`) a command that failed",
    Exit.USAGE: "wrong usage, or an inventory or playbook with errors; nothing was contacted",
    Exit.UNKNOWN: "something is unknown or could not be reached",
    Exit.FAILED: "a step failed, or its result could not be verified",
    Exit.REFUSED: "refused by a guard, a lock, a size that does not fit or a missing proof",
    Exit.INTERRUPTED: "interrupted",
}

_WORST_FIRST = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.REFUSED,
    Exit.FAILED,
    Exit.UNKNOWN,
    Exit.FINDINGS,
    Exit.FINE,
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The one exit code that stands for several; `FINE` when there are none."""
    return min(codes, key=_WORST_FIRST.index, default=Exit.FINE)
