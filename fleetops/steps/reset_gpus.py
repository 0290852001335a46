"""Rung 3: reset the GPUs where their driver lives, persistence mode saved and restored, also when the reset fails."""

import re

from fleetops.engines.attribution import attribute
from fleetops.model.command import Outcome
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.machine import HOLDERS, PROCESSES
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.units import show_gib
from fleetops.platforms import platform_of
from fleetops.platforms.base import Platform
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Skip, Step
from fleetops.steps.support.reclaim import GPU_MARGIN_BYTES

# nvidia-smi's exit status misleads in both directions; its words are read too (facts/recovery.md A1).
_REFUSED_BY_DRIVER = re.compile(
    r"could not be reset|currently in use|in use by another client", re.IGNORECASE
)
_RESET_DONE = re.compile(r"GPU \S+ was successfully reset", re.IGNORECASE)
_POLL_S = 2.0
# EX_TEMPFAIL, the reset script's word for a reset that is still running.
_STILL_RUNNING = 75


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The GPUs that would be reset as things stand."""
    observation = situation.observation
    try:
        platform = platform_of(observation.node)
        gpus = wanting_reset(observation, platform)
        if gpus and not situation.service_ends_before:
            _nobody_holds(observation)
    except Refused as error:
        return PlannedStep(
            step="reset-gpus",
            title="reset GPUs",
            host=observation.node.hypervisor,
            blocked=error.message,
            guard=error.guard,
            mend=error.hint,
        )
    return PlannedStep(
        step="reset-gpus",
        title="reset GPUs",
        host=platform.reset_host(observation),
        detail=f"nvidia-smi --gpu-reset, {_described(gpus)}; persistence mode restored" if gpus else "",
        condition="if GPU memory stays held, or the driver asks for a reset",
        actions=_actions(observation, platform, gpus),
    )


def _actions(observation: Observation, platform: Platform, gpus: tuple[Gpu, ...]) -> tuple[Action, ...]:
    if not gpus:
        return ()
    return (platform.reset(observation, gpus),)


def wanting_reset(observation: Observation, platform: Platform) -> tuple[Gpu, ...]:
    """The node's GPUs that hold memory above their idle use, or that the driver says need a reset.

    Raises Refused for a recovery action that a reset does not answer (reboot, drain, or one not known).
    """
    idle = observation.baseline.gpu_used_bytes if observation.baseline else {}
    own = platform.gpus(observation)
    for gpu in own:
        if gpu.recovery_action not in {"", "None", "Reset"}:
            raise Refused(
                f"the driver asks for {gpu.recovery_action!r} on GPU {gpu.bdf}, which a reset does not answer",
                guard="recovery-action",
                host=platform.reset_host(observation),
                hint="a person decides: see the driver's manual for this recovery action",
            )
    return tuple(
        gpu
        for gpu in own
        if gpu.recovery_action == "Reset" or gpu.memory_used_bytes > idle.get(gpu.uuid, 0) + GPU_MARGIN_BYTES
    )


def run(desk: Desk, options: Options) -> str:
    """Reset; what the driver says is compared with what the facts show afterwards."""
    observation = desk.situation.observation
    platform = platform_of(observation.node)
    gpus = wanting_reset(observation, platform)
    if not gpus:
        raise Skip("no GPU holds memory or asks for a reset")
    _nobody_holds(observation)
    action = platform.reset(observation, gpus)
    desk.tell(f"resetting {_described(gpus)} on {action.host}")
    outcome = desk.change(action)
    _judge(outcome, action.host)
    _wait_until_clean(desk, platform, options.seconds("settle"))
    _persistence_is_back(desk, platform, gpus)
    return f"{len(gpus)} GPUs reset"


def _persistence_is_back(desk: Desk, platform: Platform, before: tuple[Gpu, ...]) -> None:
    """Read again, as everything else is."""
    now = {gpu.uuid: gpu.persistence for gpu in platform.gpus(desk.situation.observation)}
    lost = [gpu.bdf for gpu in before if gpu.persistence and not now.get(gpu.uuid)]
    if lost:
        host = platform.reset_host(desk.situation.observation)
        raise StepFailed(
            f"persistence mode was on and is not any more: GPU {', '.join(lost)}",
            host=host,
            hint=f"fleetops run {host} -- nvidia-smi -pm 1",
        )


def _nobody_holds(observation: Observation) -> None:
    """A reset while something has the device open cannot work: said before it is tried."""
    holders = observation.node_facts.value(HOLDERS)
    if holders is None:
        raise Refused("who holds the GPUs could not be read", guard="tenants", host=observation.node.name)
    daemons = {process.pid for process in attribute(observation).daemons}
    holding = [holder for holder in holders if holder.pid not in daemons]
    if holding:
        table = {process.pid: process for process in observation.node_facts.value(PROCESSES) or ()}
        first = table.get(holding[0].pid)
        state = " in D state (SIGKILL is queued)" if first and first.state == "D" else ""
        raise Refused(
            f"a reset cannot help while process {holding[0].pid}{state} holds {holding[0].path}",
            guard="holders",
            host=observation.node.name,
            hint=f"fleetops kill {observation.node.name} ends the service; fleetops probe {observation.node.name}",
        )


def _judge(outcome: Outcome, host: str) -> None:
    if outcome.status == _STILL_RUNNING:
        raise Refused(
            f"an earlier reset is still running on {host}; there is no second one beside it",
            guard="lock",
            host=host,
            hint=f"fleetops run {host} -- pgrep -af fleetops-reset-gpus; when it has ended, run this again",
        )
    words = outcome.stdout + outcome.stderr
    if _REFUSED_BY_DRIVER.search(words):
        raise StepFailed(
            f"the driver refused the reset: {_telling(words)}",
            host=host,
            hint=f"fleetops run {host} -- nvidia-smi",
        )
    # What ran out of time, or whose answer was lost, is decided by the facts alone.
    told = outcome.status is not None and not outcome.timed_out
    if told and not outcome.ok and not _RESET_DONE.search(words):
        raise StepFailed(f"the reset failed with status {outcome.status}: {outcome.said}", host=host)


def _telling(words: str) -> str:
    return next(
        (line.strip() for line in words.splitlines() if "GPU 0" in line), words.strip().splitlines()[0]
    )


def _wait_until_clean(desk: Desk, platform: Platform, settle_s: float) -> None:
    """Whatever the driver said, also when its answer was lost: what counts is what the GPUs show now."""
    until = desk.now() + settle_s
    while True:
        try:
            dirty = wanting_reset(desk.look().observation, platform)
            shown = f"still hold {show_gib(sum(gpu.memory_used_bytes for gpu in dirty))}: {_described(dirty)}"
        except FleetopsError as error:
            dirty, shown = None, error.message
        if dirty == ():
            return
        if desk.now() >= until:
            raise StepFailed(
                f"after the reset the GPUs are not clean: {shown}", host=desk.situation.node_name
            )
        desk.wait(_POLL_S)


def _described(gpus: tuple[Gpu, ...]) -> str:
    return f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}"


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
        )
    },
)
