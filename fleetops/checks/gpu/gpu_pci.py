"""GPUs that are on the PCI bus and that the driver does not have, and GPUs that are not even on the bus.

nvidia-smi's list is only shorter then, with exit status 0; the bus says which GPU it is, and whether it is gone.
"""

from fleetops.checks.support.gpus import hardware_host
from fleetops.checks.support.passed import passed_gpus
from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.model.fact import Facts
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPU_PCI, GPUS, PciGpu

_NAME = "gpu-pci"
_PASSED_ON = "vfio-pci"


def judge(observation: Observation) -> list[Finding]:
    """A container is judged by its host's bus, and only while it lacks a GPU: the others there are other guests'."""
    guest, beside = observation.node.guest, observation.hypervisor_facts
    in_container = guest is not None and guest.kind == "lxc"
    facts = beside if in_container and beside is not None else observation.node_facts
    if in_container and not _lacks_one(observation):
        return []
    if unknown := lacking(_NAME, observation, GPUS, GPU_PCI, on=facts):
        return unknown
    on_bus = facts.value(GPU_PCI) or ()
    if _others_untold(facts):
        return []
    if missing := _strange(facts, on_bus):
        return [_not_whole(observation, facts, missing)]
    findings = _without_driver(observation, facts, on_bus)
    return findings if in_container else [*findings, *_gone(observation, on_bus)]


def _others_untold(facts: Facts) -> bool:
    """While one is lost nvidia-smi may list the others and tell nothing more of them, their addresses neither."""
    gpus = facts.value(GPUS)
    return gpus is not None and bool(gpus.lost and gpus.listed)


def _lacks_one(observation: Observation) -> bool:
    wanted = observation.node.gpus
    gpus = observation.node_facts.value(GPUS)
    return gpus is None or (wanted is not None and len(gpus.gpus) < wanted)


def _with_driver(facts: Facts) -> set[str]:
    """Addresses that nvidia-smi names, lost ones included: those are another check's."""
    gpus = facts.value(GPUS)
    return {gpu.bdf for gpu in gpus.gpus} | {one.bdf for one in gpus.lost if one.bdf} if gpus else set()


def _strange(facts: Facts, on_bus: tuple[PciGpu, ...]) -> list[str]:
    """GPUs that answer and that the bus does not list: then it is not this machine's bus that was read."""
    gpus = facts.value(GPUS)
    listed_there = {gpu.bdf for gpu in on_bus}
    return [gpu.bdf for gpu in (gpus.gpus if gpus else ()) if gpu.bdf not in listed_there]


def _not_whole(observation: Observation, facts: Facts, missing: list[str]) -> Finding:
    evidence = f"{facts.host}'s PCI bus does not list GPUs that answer there ({listed(missing)})"
    return found(_NAME, observation, Severity.UNKNOWN, "PCI bus not known", evidence, command="probe")


def _without_driver(observation: Observation, facts: Facts, on_bus: tuple[PciGpu, ...]) -> list[Finding]:
    without = [gpu for gpu in on_bus if gpu.driver != _PASSED_ON and gpu.bdf not in _with_driver(facts)]
    if not without:
        return []
    said = listed(f"{gpu.bdf} (driver: {gpu.driver or 'none'})" for gpu in without)
    evidence = f"on {facts.host}'s PCI bus and not among the GPUs that nvidia-smi reports: {said}"
    machine = hardware_host(observation)
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "GPU without driver",
            evidence,
            person=f"look for it in the kernel log of {facts.host}; else reboot or power-cycle {machine}",
        )
    ]


def _gone(observation: Observation, on_bus: tuple[PciGpu, ...]) -> list[Finding]:
    """Fewer on the bus than the inventory states, or than the hypervisor passes to the VM."""
    passed, wanted = passed_gpus(observation), observation.node.gpus
    here = len(on_bus)
    said = []
    if wanted is not None and here < wanted:
        said.append(f"the inventory states {wanted}")
    if passed is not None and here < len(passed):
        said.append(f"{observation.node.hypervisor} passes {counted(len(passed), 'GPU')} to it")
    if not said:
        return []
    machine = hardware_host(observation)
    evidence = f"{counted(here, 'GPU')} on {observation.node.name}'s PCI bus; {'; '.join(said)}"
    in_guest = observation.node.guest is not None and passed is not None and here < len(passed)
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "GPU gone from PCI",
            evidence,
            command="recover --dry-run" if in_guest else "",
            person="" if in_guest else f"reboot or power-cycle {machine}",
        )
    ]


CHECK = Check(name=_NAME, title="the driver has every GPU that is plugged in", judge=judge, sweeps_only=True)
