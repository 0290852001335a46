"""What the resets of rung 3 and of rung 4 share: which GPUs, what the driver said, and what the facts show afterwards."""

import re

from fleetops.model.command import Outcome
from fleetops.model.device_service import DEVICE_SERVICES
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.units import show_gib
from fleetops.platforms.base import Platform
from fleetops.platforms.support.nvlink import reset_set
from fleetops.platforms.support.reset_call import NOT_RESTORED
from fleetops.steps.support.base import Desk
from fleetops.steps.support.reclaim import GPU_MARGIN_BYTES

RESET_FAILED = "reset-failed"
"""The desk's memo of why rung 3's reset did not help."""

# nvidia-smi's exit status misleads in both directions; its words are read too (facts/recovery.md A1).
_REFUSED_BY_DRIVER = re.compile(
    r"could not be reset|currently in use|in use by another client", re.IGNORECASE
)
_RESET_DONE = re.compile(r"GPU \S+ was successfully reset", re.IGNORECASE)
_POLL_S = 2.0
# EX_TEMPFAIL, the reset script's word for a reset that is still running.
_STILL_RUNNING = 75


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
    lost = "; ".join(line.strip() for line in words.splitlines() if NOT_RESTORED in line)
    beside = f" ({lost})" if lost else ""
    if _REFUSED_BY_DRIVER.search(words):
        raise StepFailed(
            f"the driver refused the reset: {_telling(words)}{beside}",
            host=host,
            hint=f"fleetops run {host} -- nvidia-smi; where nobody is shown, lsmod tells whether nvidia_drm holds it",
        )
    # What ran out of time, or whose answer was lost, is decided by the facts alone.
    told = outcome.status is not None and not outcome.timed_out
    if told and not outcome.ok and not _RESET_DONE.search(words):
        raise StepFailed(
            f"the reset failed with status {outcome.status}: {_said(outcome)}{beside}", host=host
        )


def _said(outcome: Outcome) -> str:
    """The driver's own words come on stdout; beside them stands what was restored."""
    return Outcome(status=outcome.status, stdout=outcome.stdout).said if outcome.stdout else outcome.said


def _telling(words: str) -> str:
    """The line about a GPU that was not reset; a list may begin with those that were."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    refused = [line for line in lines if "GPU 0" in line and not _RESET_DONE.search(line)]
    return next(iter([*refused, *filter(_REFUSED_BY_DRIVER.search, lines)]))


def wait_until_clean(desk: Desk, platform: Platform, settle_s: float) -> None:
    """Whatever the driver said, also when its answer was lost: what counts is what the GPUs show now."""
    until = desk.now() + settle_s
    while True:
        try:
            dirty = wanting_reset(desk.look().observation, platform)
            shown = f"still hold {show_gib(sum(gpu.memory_used_bytes for gpu in dirty))}: {described(dirty)}"
        except FleetopsError as error:
            dirty, shown = None, error.message
        if dirty == ():
            return
        if desk.now() >= until:
            raise StepFailed(
                f"after the reset the GPUs are not clean: {shown}", host=desk.situation.node_name
            )
        desk.wait(_POLL_S)


def described(gpus: tuple[Gpu, ...]) -> str:
    """`1 GPU`, `8 GPUs`."""
    return f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}"
