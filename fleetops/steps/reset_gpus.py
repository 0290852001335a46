"""Rung 3: reset the GPUs where their driver lives, and only those that need it.

Persistence mode and the services that hold the GPUs are saved and restored, also when the reset fails.
"""

from dataclasses import replace

from fleetops.engines.attribution import attribute
from fleetops.model.errors import Refused, StepFailed
from fleetops.model.finding import Observation
from fleetops.model.machine import HOLDERS, PROCESSES, Holder
from fleetops.model.plan import Action, PlannedStep
from fleetops.platforms import platform_of
from fleetops.platforms.base import Platform
from fleetops.platforms.support.reset_call import units_of
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Skip, Step
from fleetops.steps.support.resetting import (
    RESET_FAILED,
    described,
    is_as_before,
    judge_reset,
    to_reset,
    wait_until_clean,
)

# An nvidia-smi of somebody who watches takes a second or two.
_PASSES_WITHIN_S = 10.0
_POLL_S = 2.0


def plan(situation: Situation, options: Options) -> PlannedStep:
    """The GPUs that would be reset as things stand."""
    observation = situation.observation
    host = observation.node.hypervisor or situation.node_name
    planned = PlannedStep(
        step="reset-gpus",
        title="reset GPUs",
        host=host,
        condition="if GPU memory stays held, or the driver asks for a reset",
    )
    platform = platform_of(observation.node)
    try:
        host = platform.reset_host(observation)
        gpus = to_reset(observation, platform)
        if gpus and not situation.service_ends_before:
            _nobody_holds(observation, platform, options)
        actions = (platform.reset(observation, gpus),) if gpus else ()
    except Skip as skip:
        return replace(planned, host=host, skip=str(skip))
    except Refused as error:
        if left := _left_to_next(error, platform, options):
            return replace(planned, host=host, skip=left)
        return replace(planned, host=host, blocked=error.message, guard=error.guard, mend=error.hint)
    told = f"nvidia-smi --gpu-reset, {described(gpus)}; {_restored(actions)}" if actions else ""
    return replace(planned, host=host, detail=told, actions=actions)


def _restored(actions: tuple[Action, ...]) -> str:
    """What the call puts back, named where it stops services for it."""
    units = [unit for action in actions for unit in units_of(action)]
    return f"persistence mode{', '.join(['', *units])} restored"


def run(desk: Desk, options: Options) -> str:
    """Reset; what the driver says is compared with what the facts show afterwards."""
    observation = desk.situation.observation
    platform = platform_of(observation.node)
    try:
        gpus = to_reset(observation, platform)
    except Refused as error:
        if left := _left_to_next(error, platform, options):
            raise Skip(left) from error
        raise
    if not gpus:
        raise Skip("no GPU holds memory or asks for a reset")
    observation = _once_passers_by_are_gone(desk, platform)
    _nobody_holds(observation, platform, options)
    action = platform.reset(observation, gpus)
    desk.tell(f"resetting {described(gpus)} on {action.host}")
    outcome = desk.change(action)
    try:
        judge_reset(outcome, action.host)
        wait_until_clean(desk, platform, options.seconds("settle"))
    except StepFailed as error:
        desk.memo[RESET_FAILED] = error.message
        raise
    is_as_before(desk.situation.observation, platform, gpus, units_of(action))
    return f"{described(gpus)} reset"


def _once_passers_by_are_gone(desk: Desk, platform: Platform) -> Observation:
    """Whoever asks the driver something has the device open for a moment: no reason to leave it to a larger remedy."""
    until = desk.now() + _PASSES_WITHIN_S
    while platform.in_the_way(desk.situation.observation) and desk.now() < until:
        desk.wait(_POLL_S)
        desk.look()
    return desk.situation.observation


def _left_to_next(error: Refused, platform: Platform, options: Options) -> str:
    """Why it is the next rung's: a driver that hangs, or a guest whose hypervisor resets all of its GPUs; "" where it is not."""
    if not options.switch("or-skip") or error.guard not in {"driver", "gpus"}:
        return ""
    if platform.power and platform.power.resets_gpus:
        return f"{error.message}; stopping and starting the guest resets them all"
    return error.message if error.guard == "driver" else ""


def _nobody_holds(observation: Observation, platform: Platform, options: Options) -> None:
    """A reset while something has the device open cannot work: said before it is tried, or left to the next rung."""
    holders = observation.node_facts.value(HOLDERS)
    if holders is None:
        raise Refused("who holds the GPUs could not be read", guard="tenants", host=observation.node.name)
    found = attribute(observation)
    own, daemons = {one.pid for one in found.processes}, {one.pid for one in found.daemons}
    strangers = [holder for holder in holders if holder.pid not in daemons | own]
    holding = next(iter([*strangers, *(holder for holder in holders if holder.pid in own)]), None)
    why = _held(observation, holding) if holding else platform.in_the_way(observation)
    if why and options.switch("or-skip") and not strangers:
        raise Skip(why)
    if why:
        name = observation.node.name
        raise Refused(
            why,
            guard="holders",
            host=name,
            hint=f"fleetops kill {name} ends the service; fleetops probe {name}",
        )


def _held(observation: Observation, holding: Holder) -> str:
    table = {process.pid: process for process in observation.node_facts.value(PROCESSES) or ()}
    process = table.get(holding.pid)
    state = " in D state (SIGKILL is queued)" if process and process.state == "D" else ""
    return f"a reset cannot help while process {holding.pid}{state} holds {holding.path}"


STEP = Step(
    name="reset-gpus",
    summary="rung 3: reset the GPUs that hold memory without an owner or ask for it, where their driver lives",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    platform_guards=True,
    options={
        "settle": OptionSpec(
            kind="duration", default=60, meaning="how long GPU memory may take to be free again"
        ),
        "or-skip": OptionSpec(
            kind="switch",
            default=False,
            meaning="leave to the next rung what a reset cannot help: a GPU that the service's own process holds, or"
            " that does not answer in a VM, and a driver that hangs",
        ),
    },
)
