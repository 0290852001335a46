"""Is everything back? Every byte, every GPU, shown before and after; a dirty node is never relaunched on."""

from fleetops.model.errors import StepFailed
from fleetops.model.machine import HOLDERS
from fleetops.model.plan import PlannedStep
from fleetops.model.record import ReclaimRow
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.reclaim import UNTIL_FACTS, missing_facts, reclaim_rows, told

_POLL_S = 2.0
# Memory that comes back in waves (400 GB takes a while to unpin) must be seen back twice.
_TWICE_APART_S = 1.0


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Nothing runs here but reads."""
    return PlannedStep(
        step="verify-reclaimed",
        title="verify reclaimed",
        host=situation.node_name,
        detail=f"memory, GPUs, processes, port, shared memory; within {options.seconds('within'):g} s",
        blocked=_never_clean(situation),
        hopeless=True,
        guard="other-service",
    )


def _never_clean(situation: Situation) -> str:
    """Another service on the node's GPUs is not touched, so they never come back to idle."""
    holding = {holder.pid for holder in situation.observation.node_facts.value(HOLDERS) or ()}
    for service in situation.attribution.others:
        if service.launcher and any(process.pid in holding for process in service.processes):
            return (
                f"another service (pid {service.launcher.pid}, port {service.port}) uses the GPUs of"
                f" {situation.node_name}: it is not touched, and beside it the node is never clean"
            )
    return ""


def run(desk: Desk, options: Options) -> str:
    """Poll to the deadline; the table is handed over whatever it shows."""
    until = desk.now() + options.seconds("within")
    rows = _rows(desk)
    while left := missing_facts(rows, tuple(UNTIL_FACTS)):
        if desk.now() >= until:
            desk.report_reclaimed(rows)
            raise StepFailed(
                f"not everything is back: {told(left)}",
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
