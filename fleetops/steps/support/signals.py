"""Sending signals to exactly the processes that are meant: pid and start time are compared on the node, right before."""

from collections.abc import Iterable

from fleetops.model.command import Command, shell
from fleetops.model.machine import Process
from fleetops.steps.support.scripts import HEARD_OR_NOT, START_OF

# $1: signal name; the rest: PID:START_TICKS. One line a process: `PID sent|gone|other`.
_SIGNAL = (
    START_OF
    + HEARD_OR_NOT
    + r"""
signal=$1; shift
for one in "$@"; do
    pid=${one%%:*}
    stat=$(cat "/proc/$pid/stat" 2>/dev/null) || { echo "$pid gone"; continue; }
    if [ "$(start_of "$stat")" != "${one#*:}" ]; then echo "$pid other"; continue; fi
    if kill -s "$signal" "$pid" 2>/dev/null; then echo "$pid sent"; else echo "$pid gone"; fi
done
"""
)


def signal_command(signal: str, processes: Iterable[Process]) -> Command:
    """A Command that sends `signal` (TERM, KILL, ...) to each process that still is the one that was seen."""
    names = (f"{process.pid}:{process.start_ticks}" for process in processes)
    return shell(_SIGNAL, signal, *names, name="fleetops-signal", changes=True, root=True)
