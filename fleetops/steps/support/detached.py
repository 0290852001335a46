"""Changes that may outlive a connection: they run detached on their host, and leave there how they fare.

A folder `/run/fleetops/runs/RUN/STEP` is the claim, made atomically: submitting the same step of the same run again does
nothing. Any controller can read in it which process works, what it printed, and how it ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.errors import FleetopsError, StepFailed
from fleetops.model.plan import Action
from fleetops.steps.support.base import Desk
from fleetops.steps.support.scripts import START_OF

RUNS = "/run/fleetops/runs"
KILL_AFTER_S = 10.0
_POLL_S = 1.0
# How much later than its own deadline its end may show: TERM, KILL, and a poll.
_LATE_S = 30.0
_TIMED_OUT = 124
ABSENT, RUNNING = "absent", "running"

LIVES = (
    START_OF
    + r"""
lives() {
    read -r pid ticks 2>/dev/null < "$1/pid" || return
    stat=$(cat "/proc/$pid/stat" 2>/dev/null) || return
    case ${stat##*) } in [ZX]*) return 1 ;; esac
    [ "$(start_of "$stat")" = "$ticks" ]
}
"""
)
"""`lives CLAIM`: the process that works on it still runs. A zombie has ended: who should reap it may be slow."""

_WORK = (
    START_OF
    + r"""
claim=$1 limit=$2 grace=$3
shift 3
read -r stat < /proc/$$/stat
echo "$$ $(start_of "$stat")" > "$claim/pid"
timeout -k "$grace" "$limit" "$@" > "$claim/stdout" 2> "$claim/stderr"
echo $? > "$claim/status.new"
mv "$claim/status.new" "$claim/status"
"""
)

# $1 claim, $2 what is kept in it for whoever goes on later, $3 what runs detached, $4 its limit in s, $5 its grace in s;
# the rest is the argv.
_SUBMIT = r"""
umask 077
claim=$1 note=$2 work=$3
shift 3
mkdir -p "${claim%/*}" || exit 1
if ! mkdir "$claim" 2>/dev/null; then
    [ -d "$claim" ] || { echo "$claim could not be made" >&2; exit 1; }
    echo 'submitted before' >&2
    exit 0
fi
printf '%s\n' "$note" > "$claim/note"
setsid sh -c "$work" fleetops-detached "$claim" "$@" < /dev/null > /dev/null 2>&1 &
tries=0
while [ ! -s "$claim/pid" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
[ -s "$claim/pid" ] || { echo 'it did not begin' >&2; exit 1; }
"""

# $1 claim. First line `absent` where nothing was submitted, `ended STATUS`, `running`, or `lost`: its process is gone and left no status (the host was restarted,
# or somebody ended it). Then what it printed.
_WATCH = (
    LIVES
    + r"""
state=lost
[ -d "$1" ] || state=absent
if lives "$1"; then state=running; fi
if read -r status 2>/dev/null < "$1/status"; then state="ended $status"; fi
echo "$state"
if [ -e "$1/stderr" ]; then tail -c 65536 "$1/stderr" >&2; fi
if [ -e "$1/stdout" ]; then tail -c 65536 "$1/stdout"; fi
"""
)

UNDER_WAY = (
    LIVES
    + r"""
for file in "$1/$2"/*/pid; do
    claim=${file%/pid}
    if lives "$claim"; then echo "${claim##*/}"; fi
done
"""
)
"""$1 folder of all runs, $2 a run. Prints the names of its changes that are still under way, one a line."""

# $1 folder of all runs; the rest are runs. One line a claim: RUN, NAME, how it stands, its note; separated by tabs.
_CLAIMS = (
    LIVES
    + r"""
folder=$1; shift
for run in "$@"; do
    for claim in "$folder/$run"/*/; do
        claim=${claim%/}
        [ -d "$claim" ] || continue
        state=lost note=
        if lives "$claim"; then state=running; fi
        if read -r status 2>/dev/null < "$claim/status"; then state="ended $status"; fi
        read -r note 2>/dev/null < "$claim/note"
        printf '%s\t%s\t%s\t%s\n' "$run" "${claim##*/}" "$state" "$note"
    done
done
"""
)


@dataclass(frozen=True)
class Claim:
    """A change that a run has left on a host: its name, how it stands (as `state_of` tells), and its note."""

    run_id: str
    name: str
    state: str
    note: str


@dataclass(frozen=True)
class Detached:
    """A change as it is submitted, and the claim in which its host keeps how it fares."""

    action: Action
    claim: str
    limit_s: float


def detached(action: Action, run_id: str, name: str, note: str = "") -> Detached:
    """The same change, detached: it is ended when its own deadline passes, and the submission returns at once.

    `note`, one line, stays with the claim: what a run that goes on later has to know.
    """
    claim, limit_s = f"{RUNS}/{run_id}/{name}", action.command.deadline_s
    submit = shell(
        _SUBMIT,
        *(claim, note, _WORK, f"{limit_s:g}", f"{KILL_AFTER_S:g}"),
        *action.command.argv,
        name="fleetops-submit",
        changes=True,
        root=True,
        deadline_s=20.0,
    )
    return Detached(Action(host=action.host, command=submit, why=action.why), claim, limit_s)


def must_be_submitted(outcome: Outcome, host: str) -> None:
    """Raises StepFailed where the host did not take it. A lost answer is none: `follow` shows what became of it."""
    if outcome.status is not None and not outcome.ok:
        raise StepFailed(
            f"{host} did not take the change (status {outcome.status}): {outcome.said}", host=host
        )


def follow(desk: Desk, change: Detached) -> Outcome:
    """Wait for its end and return how it ended, with what it printed.

    A connection that breaks meanwhile changes nothing: the host is asked again. `timed_out` where it did not end within its
    deadline, also when it could not be ended (state D); without a status where the host lost it, or does not answer.
    """
    until, host = desk.now() + change.limit_s + KILL_AFTER_S + _LATE_S, change.action.host
    while True:
        answers = True
        try:
            if seen := _look(desk, host, change.claim):
                return seen
        except FleetopsError as error:
            answers = False
            desk.tell(f"{error.message}: asking again how the change fares")
        if desk.now() >= until:
            return Outcome(status=None, timed_out=answers)
        desk.wait(_POLL_S)


def _look(desk: Desk, host: str, claim: str) -> Outcome | None:
    """None while it runs, and where its claim cannot be read. Raises FleetopsError where nobody answers."""
    outcome = desk.ask(host, watch(claim))
    state, _, stdout = outcome.stdout.partition("\n")
    if not outcome.ok or state == RUNNING:
        return None
    status = int(state.removeprefix("ended ")) if state.startswith("ended ") else None
    return Outcome(status=status, stdout=stdout, stderr=outcome.stderr, timed_out=status == _TIMED_OUT)


def state_of(desk: Desk, host: str, claim: str) -> str:
    """How a change stands now: `absent`, `running`, `lost`, or `ended STATUS`. Raises StepFailed where nobody can tell."""
    outcome = desk.ask(host, watch(claim))
    if not outcome.ok:
        raise StepFailed(f"how the change fares could not be asked: {outcome.said}", host=host)
    return outcome.stdout.partition("\n")[0]


def watch(claim: str) -> Command:
    """The read that tells how a detached change fares."""
    return shell(_WATCH, claim, name="fleetops-watch", root=True)


def under_way(run_id: str, runs: str = RUNS) -> Command:
    """The read that names the changes of a run that still go on, whether its controller lives or not."""
    return shell(UNDER_WAY, runs, run_id, name="fleetops-under-way", root=True)


def claims(run_ids: Iterable[str]) -> Command:
    """The read that tells how the changes of these runs stand on a host."""
    return shell(_CLAIMS, RUNS, *run_ids, name="fleetops-claims", root=True)


def parse_claims(outcome: Outcome) -> tuple[Claim, ...]:
    """What `claims` printed."""
    rows = (line.split("\t", 3) for line in outcome.stdout.splitlines())
    return tuple(Claim(*row) for row in rows if len(row) == len(fields(Claim)))
