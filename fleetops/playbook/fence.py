"""The fence around every change: on the host, in the very command that makes it, its run must hold the lock.

A controller may sleep past its lease and wake up, or be cut off while somebody else takes over: what it sends then
changes nothing. The change leaves a claim first and looks at the lock after that; whoever takes a lapsed lock over does
it the other way round (playbook/lock.py). So of the two at least one sees the other.
"""

from dataclasses import replace

from fleetops.model.command import Command, Outcome
from fleetops.playbook.lock import LOCKS
from fleetops.steps.support.detached import RUNS
from fleetops.steps.support.scripts import START_OF

_LOST = 77
_SAID = "is not its own any more"

# $1 the folder of the run's changes, $2 the change's name, $3 the lock's file, $4 the run; the rest is the change.
# It becomes the change itself, so that the pid in the claim is the change's own. Only what is built into a shell is used
# but for one mkdir: nothing of ours is left in its environment, its umask or its standard input.
_FENCED = (
    START_OF
    + r"""
claim=$1/$2-$$ lock=$3 run=$4; shift 4
read -r stat < /proc/$$/stat
(umask 077; mkdir -p "$claim" && echo "$$ $(start_of "$stat")" > "$claim/pid") ||
    { echo "$claim could not be written: nothing was changed" >&2; exit 1; }
held= up= boot=
read -r held 2>/dev/null < "$lock"
read -r up _ < /proc/uptime
read -r boot < /proc/sys/kernel/random/boot_id
case $held in *"\"boot_id\": \"$boot\""*"\"run_id\": \"$run\""*) ;; *) held= ;; esac
ends=${held#*\"until_uptime\": } ends=${ends%%[!0-9]*}
if [ -z "$ends" ] || [ "${up%.*}" -gt "$ends" ]; then
    rm -rf "$claim"
    echo "the lock of $run is not its own any more" >&2
    exit 77
fi
exec "$@"
"""
)


def fenced(command: Command, *, lock: str, run_id: str, name: str) -> Command:
    """The same command, which does nothing but fail with status 77 unless the run holds that lock on its host.

    `name` is what the change is called there while it is under way. Raises ValueError for one that is not root's: only
    root can read a lock.
    """
    if not command.root:
        raise ValueError("a change is made as root")
    head = (
        "sh",
        "-c",
        _FENCED,
        "fleetops-fence",
        f"{RUNS}/{run_id}",
        name or "change",
        f"{LOCKS}/{lock}",
        run_id,
    )
    return replace(command, argv=(*head, *command.argv))


def was_fenced_off(outcome: Outcome) -> bool:
    """Whether the host has not let the change through."""
    return outcome.status == _LOST and _SAID in outcome.stderr
