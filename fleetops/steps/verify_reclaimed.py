"""Is everything back? Every byte, every GPU, shown before and after; a dirty node is never relaunched on."""

from fleetops.model.errors import StepFailed
from fleetops.model.gpu import DRIVER_UNRESPONSIVE
from fleetops.model.plan import PlannedStep
from fleetops.model.record import ReclaimRow
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.beyond import beyond
from fleetops.steps.support.reclaim import UNTIL_FACTS, missing_facts, reclaim_rows, told

_POLL_S = 2.0
# Memory that comes back in waves (400 GB takes a while to unpin) must be seen back twice.
_TWICE_APART_S = 1.0


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Nothing runs here but reads; where a person is needed first, the run is not begun."""
    never = beyond(situation)
    return PlannedStep(
        step="verify-reclaimed",
        title="verify reclaimed",
        host=situation.node_name,
        detail=f"memory, GPUs, processes, port, shared memory; within {options.seconds('within'):g} s",
        blocked=never.why if never else "",
        hopeless=never is not None,
        guard=never.guard if never else "",
        mend=never.mend if never else "",
    )


def run(desk: Desk, options: Options) -> str:
    """Poll to the deadline; the table is handed over whatever it shows."""
    until = desk.now() + options.seconds("within")
    rows = _rows(desk)
    while left := missing_facts(rows, tuple(UNTIL_FACTS)):
        hangs = _hanging(desk.situation)
        if hangs or desk.now() >= until:
            desk.report_reclaimed(rows)
            raise StepFailed(
                f"not everything is back: {hangs or told(left)}",
                host=desk.situation.node_name,
                hint=f"fleetops probe {desk.situation.node_name}; what is left needs the next rung, or a person",
            )
        desk.tell(f"waiting for {told(left)}")
        desk.wait(_POLL_S)
        rows = _rows(desk)
    desk.wait(_TWICE_APART_S)
    rows = _rows(desk)
    desk.report_reclaimed(rows)
    if left := missing_facts(rows, tuple(UNTIL_FACTS)):
        raise StepFailed(f"it was back, and is not any more: {told(left)}", host=desk.situation.node_name)
    desk.record_baseline()
    return "everything is back"


def _hanging(situation: Situation) -> str:
    """A driver that hangs does not answer because somebody waits."""
    found = (one for one in situation.findings if one.check == DRIVER_UNRESPONSIVE)
    return next((f"the GPU driver does not answer: {one.evidence}" for one in found), "")


def _rows(desk: Desk) -> tuple[ReclaimRow, ...]:
    return reclaim_rows(desk.situation.before, desk.look().observation)


STEP = Step(
    name="verify-reclaimed",
    summary="read everything again and compare it with the idle node: memory, GPUs, processes, port, leftovers",
    plan=plan,
    run=run,
    options={
        "within": OptionSpec(kind="duration", default=120, meaning="how long memory may take to come back")
    },
)
