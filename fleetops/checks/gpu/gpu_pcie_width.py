"""A GPU whose PCIe link has fewer lanes than it should: a bad contact, a bad riser, or a slot that gave up lanes.

Only the width is judged: an idle GPU lowers the generation of its link to save power (nvidia-smi manual, PCIe). Of a VM
it is read on the host: a guest's root port does not show the physical link, and healthy guests report half of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fleetops.checks.support.gpus import called, gpus_of, hardware_host, in_vm
from fleetops.checks.support.passed import passed_gpus
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPU_PCI, GPUS

_NAME = "gpu-pcie-width"
_WIDTH = "gpu-pcie-width-count"


@dataclass(frozen=True)
class _Link:
    of: str
    lanes: int | None
    most: int | None


def judge(observation: Observation) -> list[Finding]:
    """A GPU that can have fewer lanes than the threshold is judged by what it can have."""
    beside = observation.hypervisor_facts
    if not in_vm(observation):
        unknown, links = lacking(_NAME, observation, GPUS), _own(observation)
    elif beside is None:
        return []
    else:
        unknown, links = lacking(_NAME, observation, GPU_PCI, on=beside), _passed(observation)
    if unknown:
        return unknown
    wanted = observation.thresholds[_WIDTH]
    narrow = [
        f"{link.of}: {link.lanes} of {link.most} lanes"
        for link in links
        if link.lanes is not None and link.most is not None and link.lanes < min(link.most, wanted)
    ]
    if not narrow:
        return []
    machine = hardware_host(observation)
    return [
        found(
            _NAME,
            observation,
            Severity.WARNING,
            "PCIe link narrow",
            f"{listed(narrow)}; copies between host and GPU are slower by as much",
            person=f"reseat it in {machine}, or power-cycle {machine}",
        )
    ]


def _own(observation: Observation) -> Iterator[_Link]:
    for gpu in gpus_of(observation):
        yield _Link(called(gpu), gpu.health.pcie_width, gpu.health.pcie_width_max)


def _passed(observation: Observation) -> Iterator[_Link]:
    for gpu in passed_gpus(observation) or ():
        yield _Link(f"GPU at {gpu.bdf} of {observation.node.hypervisor}", gpu.width, gpu.width_max)


CHECK = Check(name=_NAME, title="every GPU has all its PCIe lanes", judge=judge, sweeps_only=True)
