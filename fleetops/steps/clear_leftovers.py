"""Rung 2: remove what SIGKILL leaves: shared-memory segments of dead owners that nobody maps."""

from fleetops.model.command import Command, shell
from fleetops.model.errors import StepFailed
from fleetops.model.machine import Segment
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.units import show_gb
from fleetops.steps.support.base import Desk, Options, Situation, Skip, Step
from fleetops.steps.support.scripts import HEARD_OR_NOT

# The rest: for each segment its name and its creator's pid (`-` when not told). Each is looked at again before it goes:
# still there, creator dead, mapped or open nowhere. One line each: `NAME removed|kept: WHY|gone`.
_REMOVE = (
    HEARD_OR_NOT
    + r"""
while [ $# -ge 2 ]; do
    name=$1 creator=$2; shift 2
    if [ "$creator" != - ] && [ -d "/proc/$creator" ]; then echo "$name kept: process $creator lives"; continue; fi
    case $name in
    sysv:*)
        id=${name#sysv:}
        attached=$(awk -v id="$id" '$2 == id { print $7 }' /proc/sysvipc/shm)
        if [ -z "$attached" ]; then echo "$name gone"
        elif [ "$attached" != 0 ]; then echo "$name kept: attached $attached times"
        elif ipcrm -m "$id"; then echo "$name removed"; else echo "$name kept: ipcrm failed"; fi
        continue ;;
    /dev/shm/*) ;;
    *) echo "$name kept: not in /dev/shm"; continue ;;
    esac
    if [ ! -f "$name" ]; then echo "$name gone"
    elif grep -qsF -- "$name" /proc/[0-9]*/maps; then echo "$name kept: mapped"
    elif find /proc/[0-9]*/fd -lname "$name" 2>/dev/null | grep -q .; then echo "$name kept: open"
    elif rm -f -- "$name"; then echo "$name removed"; else echo "$name kept: rm failed"; fi
done
"""
)


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The segments as seen now; the kill of rung 1 usually leaves more."""
    segments = situation.attribution.leftovers
    return PlannedStep(
        step="clear-leftovers",
        title="clear leftovers",
        host=situation.node_name,
        detail=_described(segments) if segments else "shared memory that the stop leaves behind",
        condition="" if segments else "if segments of dead owners are left",
        actions=(_action(situation.node_name, segments),) if segments else (),
    )


def run(desk: Desk, _options: Options) -> str:
    """Remove the segments; those that turn out to be in use are kept and said."""
    segments = desk.situation.attribution.leftovers
    if not segments:
        raise Skip("nothing is left over")
    outcome = desk.change(_action(desk.situation.node_name, segments))
    if outcome.status is None:
        return _looked_at(desk, segments, outcome.said)
    kept = [line for line in outcome.stdout.splitlines() if " kept: " in line]
    if not outcome.ok or kept:
        raise StepFailed(f"not removed: {'; '.join(kept) or outcome.said}", host=desk.situation.node_name)
    return f"{_described(segments)} removed"


def _looked_at(desk: Desk, segments: tuple[Segment, ...], lost: str) -> str:
    """Its answer was lost: what is left tells."""
    gone = {one.name for one in segments} - {one.name for one in desk.look().attribution.leftovers}
    if len(gone) < len(segments):
        raise StepFailed(
            f"{len(segments) - len(gone)} of {_described(segments)} still there: {lost}",
            host=desk.situation.node_name,
        )
    return f"{_described(segments)} removed"


def _action(node: str, segments: tuple[Segment, ...]) -> Action:
    words = [
        word for one in segments for word in (one.name, str(one.creator_pid) if one.creator_pid else "-")
    ]
    command: Command = shell(
        _REMOVE, *words, name="fleetops-remove-segments", changes=True, root=True, deadline_s=60.0
    )
    return Action(host=node, command=command, why=f"remove {_described(segments)}")


def _described(segments: tuple[Segment, ...]) -> str:
    plural = "s" if len(segments) != 1 else ""
    return (
        f"{len(segments)} segment{plural} of dead owners, {show_gb(sum(one.size_bytes for one in segments))}"
    )


STEP = Step(
    name="clear-leftovers",
    summary="rung 2: remove shared-memory segments of dead owners that nobody maps",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
)
