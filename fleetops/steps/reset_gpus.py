"""Rung 3: reset the GPUs where their driver lives, and only those that need it.

Persistence mode and the services that hold the GPUs are saved and restored, also when the reset fails.
"""

import re

from fleetops.engines.attribution import attribute
from fleetops.model.command import Outcome
from fleetops.model.device_service import DEVICE_SERVICES
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.machine import HOLDERS, PROCESSES, Holder
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.units import show_gib
from fleetops.platforms import platform_of
from fleetops.platforms.base import Platform
from fleetops.platforms.support.nvlink import reset_set
from fleetops.platforms.support.reset_call import units_of
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


def plan(situation: Situation, options: Options) -> PlannedStep:
    """The GPUs that would be reset as things stand."""
    observation = situation.observation
    host = observation.node.hypervisor or situation.node_name
    try:
        platform = platform_of(observation.node)
        host = platform.reset_host(observation)
        gpus = to_reset(observation, platform)
        if gpus and not situation.service_ends_before:
            _nobody_holds(observation, platform, options)
        actions = (platform.reset(observation, gpus),) if gpus else ()
    except Skip as skip:
        return PlannedStep(step="reset-gpus", title="reset GPUs", host=host, skip=str(skip))
    except Refused as error:
        return PlannedStep(
            step="reset-gpus",
            title="reset GPUs",
            host=host,
            blocked="" if _is_left(error, platform, options) else error.message,
            guard=error.guard,
            mend=error.hint,
        )
    return PlannedStep(
        step="reset-gpus",
        title="reset GPUs",
        host=host,
        detail=f"nvidia-smi --gpu-reset, {_described(gpus)}; {_restored(actions)}" if actions else "",
        condition="if GPU memory stays held, or the driver asks for a reset",
        actions=actions,
    )


def _restored(actions: tuple[Action, ...]) -> str:
    """What the call puts back, named where it stops services for it."""
    units = [unit for action in actions for unit in units_of(action)]
    return f"persistence mode{', '.join(['', *units])} restored"


def to_reset(observation: Observation, platform: Platform) -> tuple[Gpu, ...]:
    """Those that want it, with those that must be reset in the same command."""
    wanted = wanting_reset(observation, platform)
    if not wanted:
        return ()
    return reset_set(wanted, platform.gpus(observation), platform.driver_facts(observation))


def wanting_reset(observation: Observation, platform: Platform) -> tuple[Gpu, ...]:
    """The node's GPUs that hold memory above their idle use, or that the driver says need a reset.

    Raises Refused for a recovery action that a reset does not answer (reboot, drain, or one not known), and for a GPU
    whose memory cannot be read.
    """
    idle = observation.baseline.gpu_used_bytes if observation.baseline else {}
    own = platform.gpus(observation)
    for gpu in own:
        _must_be_known(gpu, platform.reset_host(observation))
    return tuple(
        gpu
        for gpu in own
        if _asks_for_reset(gpu) or gpu.memory_used_bytes > idle.get(gpu.uuid, 0) + GPU_MARGIN_BYTES
    )


def _asks_for_reset(gpu: Gpu) -> bool:
    return gpu.recovery_action == "Reset" or any("requires reset" in text.lower() for _, text in gpu.failing)


def _must_be_known(gpu: Gpu, host: str) -> None:
    if gpu.recovery_action not in {"", "None", "Reset"}:
        raise Refused(
            f"the driver asks for {gpu.recovery_action!r} on GPU {gpu.bdf}, which a reset does not answer",
            guard="recovery-action",
            host=host,
            hint="a person decides: see the driver's manual for this recovery action",
        )
    unread = [f"{name} reads {text!r}" for name, text in gpu.failing if "memory" in name]
    if unread and not _asks_for_reset(gpu):
        raise Refused(
            f"GPU {gpu.bdf} cannot be read ({unread[0]}): whether a reset helps is not known",
            guard="gpus",
            host=host,
            hint=f"a person decides: fleetops run {host} -- nvidia-smi -q",
        )


def run(desk: Desk, options: Options) -> str:
    """Reset; what the driver says is compared with what the facts show afterwards."""
    observation = desk.situation.observation
    platform = platform_of(observation.node)
    try:
        gpus = to_reset(observation, platform)
    except Refused as error:
        if _is_left(error, platform, options):
            raise Skip(f"{error.message}; stopping and starting the guest resets them all") from error
        raise
    if not gpus:
        raise Skip("no GPU holds memory or asks for a reset")
    _nobody_holds(observation, platform, options)
    action = platform.reset(observation, gpus)
    desk.tell(f"resetting {_described(gpus)} on {action.host}")
    outcome = desk.change(action)
    judge_reset(outcome, action.host)
    _wait_until_clean(desk, platform, options.seconds("settle"))
    is_as_before(desk.situation.observation, platform, gpus, units_of(action))
    return f"{len(gpus)} GPUs reset"


def _is_left(error: Refused, platform: Platform, options: Options) -> bool:
    """Whether the next rung answers it: a guest whose hypervisor resets all of its GPUs whatever its driver tells."""
    power = platform.power
    return error.guard == "gpus" and options.switch("or-skip") and power is not None and power.resets_gpus


def is_as_before(now: Observation, platform: Platform, gpus: tuple[Gpu, ...], units: tuple[str, ...]) -> None:
    """Persistence mode and services read again, as everything else is. Raises StepFailed for what did not come back."""
    host = platform.reset_host(now)
    persistent = {gpu.uuid: gpu.persistence for gpu in platform.gpus(now)}
    if lost := [gpu.bdf for gpu in gpus if gpu.persistence and not persistent.get(gpu.uuid)]:
        raise StepFailed(
            f"persistence mode was on and is not any more: GPU {', '.join(lost)}",
            host=host,
            hint=f"fleetops run {host} -- nvidia-smi -pm 1",
        )
    services = platform.driver_facts(now).value(DEVICE_SERVICES)
    if gone := [unit for unit in units if services is None or unit not in services.units]:
        raise StepFailed(
            f"stopped for the reset and not running again: {', '.join(gone)}",
            host=host,
            hint=f"fleetops run {host} -- systemctl status {' '.join(gone)}",
        )


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


def judge_reset(outcome: Outcome, host: str) -> None:
    """What the call said. Raises Refused while an earlier one runs, StepFailed where the driver says that it failed."""
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
        ),
        "or-skip": OptionSpec(
            kind="switch",
            default=False,
            meaning="leave to the next rung what a reset cannot help: a GPU that the service's own process holds, or"
            " that does not answer in a VM",
        ),
    },
)
