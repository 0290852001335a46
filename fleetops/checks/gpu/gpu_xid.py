"""Xids after which a GPU does not work before somebody has reset it, or restarted the machine it is in."""

from fleetops.checks.support.gpus import gpus_of, hardware_host, in_vm, reset_next
from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.saying import found, lacking
from fleetops.checks.support.xid.action import FATAL, Action
from fleetops.checks.support.xid.standing import Asked, said, standing, words
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.past import Remembered

_NAME = "gpu-xid"
_BY_STARTING = frozenset({Action.RESTART_VM, Action.RESTART_BM})
_NOTHING = (Action.IGNORE, Action.NOT_STATED)
_SUBJECTS = {
    Action.RESET_GPU: "Xid wants a reset",
    Action.RESTART_VM: "Xid wants a VM restart",
    Action.RESTART_BM: "Xid wants a restart",
    Action.CHECK_MECHANICALS: "Xid wants a look",
}


def judge(observation: Observation) -> list[Finding]:
    """One finding for each action that the catalogue asks for first, with the Xids that ask for it.

    What came before the last boot, load of the driver or reset of its GPU does not count, nor what the driver itself no
    longer asks for. That no such Xid is in a log proves nothing where the log does not reach back.
    """
    if unknown := lacking(_NAME, observation, KERNEL_LOG, on=kernel_facts(observation)):
        return unknown
    asked = standing(observation)
    wanted = dict.fromkeys(immediate for immediate, _ in asked if immediate in FATAL)
    return [_finding(observation, immediate, asked) for immediate in wanted]


def _finding(observation: Observation, immediate: Action, asked: Asked) -> Finding:
    events = [one for (first, _), events in asked.items() if first is immediate for one in events]
    then = sorted({then.value for first, then in asked if first is immediate and then not in _NOTHING})
    after = f", then {' and '.join(then)}" if then else ""
    command, person = _next(observation, immediate, {one.bdf for one in events})
    return found(
        _NAME,
        observation,
        Severity.CRITICAL,
        _SUBJECTS[immediate],
        f"{said(observation, events)}; NVIDIA's catalogue asks for {immediate.value}{after}"
        f"{_smaller(observation, immediate)}",
        command=command,
        person=person,
    )


def _next(observation: Observation, immediate: Action, addresses: set[str]) -> tuple[str, str]:
    """The command, or what a person does first: a GPU that works and does not ask for it is reset by nobody else."""
    machine = hardware_host(observation)
    if immediate is Action.RESET_GPU and (known := gpus_of(observation, lambda gpu: gpu.bdf in addresses)):
        following = reset_next(observation, known)
        return following.get("command", ""), following.get("person", "")
    if immediate is Action.RESET_GPU or (immediate in _BY_STARTING and in_vm(observation)):
        return "recover --dry-run", ""
    if immediate is Action.CHECK_MECHANICALS:
        return "", f"check the GPUs' power cables in {machine}"
    return "", f"reboot or power-cycle {machine}"


def _smaller(observation: Observation, immediate: Action) -> str:
    """A VM that starts gets its GPUs reset by its host, which is tried before the host itself is touched."""
    if immediate is not Action.RESTART_BM or not in_vm(observation):
        return ""
    return f"; a stop and a start of the VM may do, else a person restarts {hardware_host(observation)}"


def remember(observation: Observation) -> Remembered:
    """The Xids that stand: the kernel's buffer wraps, and what was there must not be forgotten with it."""
    return Remembered(words=words(observation))


CHECK = Check(
    name=_NAME, title="no Xid asks for a reset or a restart", judge=judge, sweeps_only=True, latched=True
)
