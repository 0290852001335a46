"""Which GPUs must be reset in one command, by their generation.

nvidia-smi's manual (facts/recovery.md A1): before Ampere all GPUs that NVLink connects are reset together; from Ampere on
each alone, on Ampere's NVSwitch machines only while Fabric Manager runs; on Hopper and later nothing is needed.
"""

import re

from fleetops.facts.device_services import FABRIC_MANAGER
from fleetops.model.device_service import DEVICE_SERVICES
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts
from fleetops.model.gpu import GPUS, Gpu
from fleetops.platforms.support.known import known

_BEFORE_AMPERE = ("Kepler", "Maxwell", "Pascal", "Volta", "Turing")
_GENERATIONS = (*_BEFORE_AMPERE, "Ampere", "Ada Lovelace", "Hopper", "Blackwell", "Rubin")
"""`product_architecture` as the driver spells it; one that is newer than these stops and asks."""

# A driver before about 510 tells no architecture: the product's name does.
_BY_NAME = tuple(
    (re.compile(rf"\b(?:{names})\b"), generation)
    for names, generation in (
        (r"K\d+\w*", "Kepler"),
        (r"M\d+\w*", "Maxwell"),
        (r"P\d+\w*|GP100|GTX 10\d\d", "Pascal"),
        (r"V100\w*|GV100|TITAN V", "Volta"),
        (r"T4G?|Quadro RTX|TITAN RTX|RTX 20\d\d|GTX 16\d\d", "Turing"),
        (r"A100|A800|A30X?|A40|A10G?|A16|A2|RTX A\d+|RTX 30\d\d", "Ampere"),
        (r"L4|L20|L40S?|RTX 40\d\d|Ada", "Ada Lovelace"),
        (r"H100|H200|H800|H20|GH200", "Hopper"),
        (r"B100|B200|B300|GB200|GB300|RTX 50\d\d|RTX PRO", "Blackwell"),
    )
)
# Of the generations before Ampere, those that have no NVLink at all: Kepler, Maxwell, and these cards.
_WITHOUT_NVLINK = re.compile(r"\b(?:T4G?|P4|P6|P40|P100-PCIE\S*|V100-PCIE\S*|TITAN V|GTX \d+)\b")


def reset_set(wanted: tuple[Gpu, ...], own: tuple[Gpu, ...], facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that one command must name so that `wanted` can be reset.

    Args:
        wanted: GPUs that shall be reset.
        own: all of the node's.
        facts: what was read on the host that owns the driver.

    Raises Refused (guard `nvlink`) where the generation is not known, where linked GPUs belong to others, or where
    Fabric Manager must run and does not.
    """
    generations = {_known_generation(gpu, facts.host) for gpu in wanted}
    if "Ampere" in generations:
        _fabric_manager_runs(facts)
    if not any(map(_is_linked, wanted)):
        return wanted
    linked = {gpu.uuid for gpu in known(facts, GPUS, "the GPUs", "gpus").gpus if _is_linked(gpu)}
    if strange := linked - {gpu.uuid for gpu in own}:
        raise Refused(
            f"GPUs before Ampere are reset together with all that NVLink may connect them to, and {len(strange)} of these"
            f" on {facts.host} are not the node's",
            guard="nvlink",
            host=facts.host,
        )
    names = {gpu.uuid for gpu in wanted} | linked
    return tuple(gpu for gpu in own if gpu.uuid in names)


def generation(gpu: Gpu) -> str:
    """By what the driver tells, else by the product's name; "" where neither is known."""
    if gpu.architecture:
        return gpu.architecture if gpu.architecture in _GENERATIONS else ""
    return next((named for pattern, named in _BY_NAME if pattern.search(gpu.name)), "")


def _known_generation(gpu: Gpu, host: str) -> str:
    found = generation(gpu)
    if not found:
        raise Refused(
            f"the generation of GPU {gpu.bdf} ({gpu.name}, {gpu.architecture or 'no architecture told'}) is not known here:"
            " whether it must be reset together with others cannot be told",
            guard="nvlink",
            host=host,
            hint="a person decides: see nvidia-smi's manual for this generation, --gpu-reset",
        )
    return found


def _is_linked(gpu: Gpu) -> bool:
    """It may be: which links there are is not asked, so every card that can have them counts."""
    found = generation(gpu)
    return found in {"Pascal", "Volta", "Turing"} and not _WITHOUT_NVLINK.search(gpu.name)


def _fabric_manager_runs(facts: Facts) -> None:
    services = known(facts, DEVICE_SERVICES, "the services that hold GPUs", "nvlink")
    if services.switches and FABRIC_MANAGER not in services.units:
        raise Refused(
            f"{facts.host} has NVSwitches, and on Ampere a GPU is reset only while Fabric Manager runs: it does not",
            guard="nvlink",
            host=facts.host,
            hint=f"fleetops run {facts.host} -- systemctl status {FABRIC_MANAGER}",
        )
