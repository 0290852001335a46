"""The fence around every change: on the host, in the very command that makes it, its run must hold the lock.

A controller may sleep past its lease and wake up, or be cut off while somebody else takes over: what it sends then
changes nothing. The change leaves a claim first and looks at the lock after that; whoever takes a lapsed lock over does
it the other way round (playbook/lock.py). So of the two at least one sees the other.

A claim is made once: one that its own run has made in the change's place, because the answer was lost, keeps the change
from being made any more (playbook/lost.py).
"""

import secrets
from dataclasses import replace

from fleetops.model.command import Command, Outcome
from fleetops.playbook.lock import LOCKS
from fleetops.steps.support.detached import RUNS
from fleetops.steps.support.scripts import START_OF

_LOST = 77
_SAID = "is not its own any more"

# $1 the folder of the run's changes, $2 the claim's name, $3 the lock's file, $4 the run; the rest is the change.
# It becomes the change itself, so that the pid in the claim is the change's own. Only what is built into a shell is used
# but for one mkdir: nothing of ours is left in its environment, its umask or its standard input.
_FENCED = (
    START_OF
    + r"""
runs=$1 claim=$1/$2 lock=$3 run=$4; shift 4
read -r stat < /proc/$$/stat
(umask 077; mkdir -p "$runs" && mkdir "$claim" && echo "$$ $(start_of "$stat")" > "$claim/pid") ||
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


def new_claim(name: str) -> str:
    """What a change of that name is called on its host, unlike any other of its run."""
    return f"{name or 'change'}-{secrets.token_hex(4)}"


def fenced(command: Command, *, lock: str, run_id: str, claim: str) -> Command:
    """The same command, which does nothing but fail with status 77 unless the run holds that lock on its host.

    `claim` (see `new_claim`) is what the change is called there. Raises ValueError for one that is not root's: only root
    can read a lock.
    """
    if not command.root:
        raise ValueError("a change is made as root")
    head = (
        "sh",
        "-c",
        _FENCED,
        "fleetops-fence",
        f"{RUNS}/{run_id}",
        claim,
        f"{LOCKS}/{lock}",
        run_id,
    )
    return replace(command, argv=(*head, *command.argv))


def was_fenced_off(outcome: Outcome) -> bool:
    """Whether the host has not let the change through."""
    return outcome.status == _LOST and _SAID in outcome.stderr
