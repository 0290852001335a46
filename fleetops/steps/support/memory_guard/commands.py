"""The commands that start a guard on a node, tell it to disarm or to end, and read what it says."""

import json
import math
from pathlib import PurePosixPath

from fleetops.facts.memory_guard import FOLDER
from fleetops.model.command import Command, shell
from fleetops.model.fleet import Profile
from fleetops.steps.support.memory_guard.fallback import FALLBACK
from fleetops.steps.support.memory_guard.program import program

INTERVAL_S = 0.02
SERVICE_WITHIN_S = 120.0
# Between readiness and the watch a service is asked for generations and measured; that takes its time as well.
MEASURING_S = 300.0
_FALLBACK_BELOW = "#### the shell's own, for a node without Python"

# $1 folder, $2 run id, $3 log, $4 settings as JSON, $5 the engine's interpreter ("" where that is no Python); the rest is
# what the fallback gets. stdin: the watcher, and below a line of its own the fallback.
# The claim makes a second submission do nothing (status 76). Prints the guard's state once it is armed.
_ARM = r"""
umask 077
folder=$1 run=$2 log=$3 settings=$4 engine=$5; shift 5
base=$folder/$run
mkdir -p "$folder" /run/fleetops/claims "${log%/*}" || exit 1
find "$folder" -type f -mtime +30 -delete 2> /dev/null
mkdir "/run/fleetops/claims/$run.start-guard" 2>/dev/null || { echo 'this guard was submitted before' >&2; exit 76; }
set -C
: > "$log" || exit 1
set +C
for python in python3 "$engine" none; do
    "$python" -I -S -c 'import ctypes, json, sys; sys.exit(sys.version_info < (3, 8))' < /dev/null 2>/dev/null && break
done
if [ "$python" != none ]; then
    sed '/^#### /,$d' > "$base.py" || exit 1
    setsid "$python" -I -S "$base.py" "$settings" < /dev/null >> "$log" 2>&1 &
else
    sed '1,/^#### /d' > "$base.sh" || exit 1
    setsid sh "$base.sh" "$base" "$run" "$@" < /dev/null >> "$log" 2>&1 &
fi
pid=$! tries=0
while [ ! -s "$base.json" ] && [ -e "/proc/$pid/exe" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
if [ -s "$base.json" ] && [ -e "/proc/$pid/exe" ]; then cat "$base.json"; exit 0; fi
kill -KILL "$pid" 2>/dev/null
tail -n 1 "$log" >&2
exit 1
"""

# $1 folder, $2 run id, $3 what to tell: `disarm` or `end`.
_TELL = r"""
umask 077
: > "$1/$2.$3"
"""


def arm_command(profile: Profile, run_id: str, *, claim: str, unit: str, log: str) -> Command:
    """Start the guard of a service that will be started next; it is armed when this has ended well.

    Args:
        profile: what will be started.
        run_id: names the guard and its files.
        claim: the folder in which the start will leave the service's pid and start time.
        unit: the systemd unit that the start will make where it can.
        log: the guard's own log, a new file.
    """
    armed_for_s = armed_at_most_s(profile)
    floor_bytes = profile.host_memory.floor_bytes
    settings = {
        "run_id": run_id,
        "profile": profile.name,
        "floor_bytes": floor_bytes,
        "armed_for_s": armed_for_s,
        "claim": claim,
        "unit": unit,
        "base": f"{FOLDER}/{run_id}",
        "interval_s": INTERVAL_S,
        "service_within_s": SERVICE_WITHIN_S,
    }
    whole_s, within_s = str(math.ceil(armed_for_s)), str(round(SERVICE_WITHIN_S))
    fallback = (profile.name, str(floor_bytes // 1024), whole_s, claim, within_s)
    return shell(
        _ARM,
        FOLDER,
        run_id,
        log,
        json.dumps(settings),
        _interpreter(profile),
        *fallback,
        name="fleetops-guard",
        stdin=f"{program()}\n{_FALLBACK_BELOW}\n{FALLBACK}",
        changes=True,
        root=True,
        deadline_s=20.0,
    )


def armed_at_most_s(profile: Profile) -> float:
    """How long a guard stays armed by its own clock where nobody disarms it."""
    return profile.ready_deadline_s + MEASURING_S + profile.watch_s


def tell_command(run_id: str, what: str) -> Command:
    """Tell a guard to `disarm` or to `end`."""
    return shell(_TELL, FOLDER, run_id, what, name="fleetops-tell-guard", changes=True, root=True)


def _interpreter(profile: Profile) -> str:
    """What runs the engine, where that is a Python; a wrapper is not asked to run anything else."""
    program_name = profile.command[0] if profile.command else ""
    return program_name if PurePosixPath(program_name).name.startswith("python") else ""
