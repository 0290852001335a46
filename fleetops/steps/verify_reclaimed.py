"""Is everything back? Every byte, every GPU, shown before and after; a dirty node is never relaunched on."""

from fleetops.model.errors import StepFailed
from fleetops.model.gpu import DRIVER_UNRESPONSIVE
from fleetops.model.plan import PlannedStep
from fleetops.model.record import ReclaimRow
from fleetops.platforms import platform_of
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.beyond import beyond
from fleetops.steps.support.reclaim import UNTIL_FACTS, missing_facts, reclaim_rows, told
from fleetops.steps.support.resetting import RESET_FAILED

_POLL_S = 2.0
# Memory that comes back in waves (400 GB takes a while to unpin) must be seen back twice.
_TWICE_APART_S = 1.0
_OF_THE_GPUS = ("gpu-memory", "gpu-count")
_HANGS = "its GPU driver hangs"
_NOT_RESET = "the reset of its GPUs failed"


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Nothing runs here but reads; where a person is needed first, the run is not begun."""
    never = beyond(situation)
    power = platform_of(situation.observation.node).power
    stays = _hanging(situation) and not (power and power.resets_gpus)
    person = f"; {_to_do(situation, _HANGS)}" if stays else ""
    return PlannedStep(
        step="verify-reclaimed",
        title="verify reclaimed",
        host=situation.node_name,
        detail=f"memory, GPUs, processes, port, shared memory; within {options.seconds('within'):g} s{person}",
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
        hangs, failed = _hanging(desk.situation), _reset_failed(desk, left)
        only_gpus = all(row.fact in _OF_THE_GPUS for row in left)
        if hangs or (failed and only_gpus) or desk.now() >= until:
            desk.report_reclaimed(rows)
            raise StepFailed(
                f"not everything is back: {hangs or '; '.join(filter(None, (told(left), failed)))}",
                host=desk.situation.node_name,
                hint=_to_do(desk.situation, _HANGS if hangs else _NOT_RESET if failed else ""),
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


def _reset_failed(desk: Desk, left: tuple[ReclaimRow, ...]) -> str:
    """Why rung 3 failed, where there is no rung 4: what only a reset brings back does not come while somebody waits."""
    has_power = platform_of(desk.situation.observation.node).power is not None
    if has_power or not any(row.fact in _OF_THE_GPUS for row in left):
        return ""
    return str(desk.memo.get(RESET_FAILED, ""))


def _to_do(situation: Situation, why: str) -> str:
    """This comes after the last rung: what is left is a person's."""
    node = situation.observation.node
    if why:
        return f"a person reboots {node.hypervisor or node.name}: {why}; then fleetops recover {node.name}"
    return f"no rung is left for it, a person decides: fleetops probe {node.name}"


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
