"""The systemd units that launches make: asked to stop as systemd does it, and cleared away afterwards."""

from collections.abc import Iterable

from fleetops.model.command import Command, shell
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.finding import Observation
from fleetops.model.machine import Process

_OURS = "fleetops-"

OOM = "oom-kill"
"""What systemd calls the end of a unit that took more than it may (the `Result` property)."""

# $1 unit. Waits until it has stopped; one that ended by a signal is a failed unit, and is forgotten. Prints how it ended, in
# systemd's word (`success`, `signal`, `oom-kill`, ...). Status 1 where systemd still knows it.
_CLEAR = r"""
result=$(systemctl show --property=Result --value -- "$1") || exit 1
systemctl stop -- "$1" 2>/dev/null
systemctl reset-failed -- "$1" 2>/dev/null
echo "$result"
[ "$(systemctl show --property=ActiveState --value -- "$1")" = inactive ]
"""


def own_units(observation: Observation, processes: Iterable[Process]) -> tuple[str, ...]:
    """The units of launches on record that these processes run in: theirs by pid and start time, or by cgroup."""
    known = {(one.pid, one.start_ticks) for one in processes}
    folders = {name for one in processes for name in one.cgroup.split("/")}
    return tuple(
        record.unit
        for record in observation.node_facts.value(SERVICE_RECORDS) or ()
        if record.unit.startswith(_OURS)
        and ((record.pid, record.start_ticks) in known or record.unit in folders)
    )


def units_on_record(observation: Observation, profile: str) -> tuple[str, ...]:
    """The units of launches of that profile, whether anything of them lives or not."""
    records = observation.node_facts.value(SERVICE_RECORDS) or ()
    return tuple(one.unit for one in records if one.profile == profile and one.unit.startswith(_OURS))


def outside(processes: Iterable[Process], units: Iterable[str]) -> tuple[Process, ...]:
    """Those that stopping the units does not reach."""
    names = set(units)
    return tuple(one for one in processes if names.isdisjoint(one.cgroup.split("/")))


def stop_unit(unit: str) -> Command:
    """Ask systemd to stop it: SIGTERM to all of it; nobody waits, the caller looks for himself."""
    return Command(argv=("systemctl", "stop", "--no-block", "--", unit), changes=True, root=True)


def clear_unit(unit: str) -> Command:
    """After its processes are gone: stopped, and not left behind as failed. Prints how it ended."""
    return shell(_CLEAR, unit, name="fleetops-clear-unit", changes=True, root=True, deadline_s=30.0)
