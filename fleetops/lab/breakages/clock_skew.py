"""The node's clock is wrong."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.spec import TOOLS

NAME = "clock-skew"
SUMMARY = "the service runs, and the node's clock is 90 seconds ahead: what it logs cannot be put beside anybody else's"
EXPLANATION = (
    "The time service stopped weeks ago and nothing looks wrong: the engine serves. But logs, traces and the times of Xids"
    " no longer match those of other hosts, tokens and certificates are judged too old or too young, and a job across"
    " nodes waits for the one that lives in the future. Whoever asks `date` on the node sees it, if he looks at his own."
    " The lab cannot set a clock: here only `date` tells another time."
)
PLATFORMS = ("lxc", "vm", "bare")
_DATE = TOOLS / "bin/date"
_AHEAD_S = 90
# The machine's own `date` comes after this one in the search path.
_PROGRAM = f'#!/bin/sh\nPATH=${{PATH#*:}}\nexec date -d "+{_AHEAD_S} seconds" "$@"\n'


def apply(folder: Path, node: str) -> None:
    """Start a service, and have `date` be ahead."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    broken.run("sh", "-c", 'printf %s "$1" > "$2" && chmod 755 "$2"', "sh", _PROGRAM, str(_DATE))


def undo(folder: Path, node: str) -> None:
    """Have the system's own `date` again."""
    BrokenNode(folder, node).run("rm", "-f", str(_DATE))
