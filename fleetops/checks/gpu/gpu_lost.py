"""A GPU that the driver has no handle of any more (it fell off the bus): the failure of that one, not of all."""

from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpus

_NAME = "gpu-lost"


def judge(observation: Observation) -> list[Finding]:
    """One finding that names them in the driver's own words, and whether anything but a person can bring them back."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    if gpus is None or not gpus.lost:
        return []
    guest = observation.node.guest
    in_vm = guest is not None and guest.kind == "vm"
    machine = observation.node.hypervisor if guest else observation.node.name
    next_is = (
        "a stop and a start of the VM may bring it back"
        if in_vm
        else f"no reset reaches it: a person reboots or power-cycles {machine}"
    )
    said = listed(one.said for one in gpus.lost)
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            f"{counted(len(gpus.lost), 'GPU')} lost",
            f"{said}; {_others(gpus)}; {next_is}",
            command="recover --dry-run" if in_vm else "",
            person="" if in_vm else f"reboot or power-cycle {machine}",
        )
    ]


def _others(gpus: Gpus) -> str:
    lost = {one.bdf for one in gpus.lost}
    answering = sum(1 for gpu in gpus.gpus if gpu.bdf not in lost)
    if gpus.listed:
        return f"{counted(gpus.listed, 'other')} listed, of which nvidia-smi tells no more while this is so"
    return f"{counted(answering, 'other')} answer{'s' if answering == 1 else ''}"


CHECK = Check(name=_NAME, title="no GPU is lost", judge=judge)
