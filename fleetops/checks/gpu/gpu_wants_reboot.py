"""The driver asks for a reboot: no reset helps, and rebooting a host is a person's decision."""

from fleetops.checks.gpu.gpu_wants_reset import BEYOND_RESET
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-wants-reboot"


def judge(observation: Observation) -> list[Finding]:
    """One finding that names the GPUs and the machine."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    wanting = [gpu for gpu in (gpus.gpus if gpus else ()) if gpu.recovery_action in BEYOND_RESET]
    if not wanting:
        return []
    guest = observation.node.guest
    machine = observation.node.hypervisor if guest and guest.kind == "lxc" else observation.node.name
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "GPU wants a reboot",
            f"the driver asks to reboot the machine that it runs on ({machine}): "
            f"{listed(f'GPU {gpu.index}' for gpu in wanting)}; a person does this",
            person=f"reboot {machine}",
        )
    ]


CHECK = Check(name=_NAME, title="no GPU asks for a reboot", judge=judge)
