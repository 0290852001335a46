"""A GPU with fewer NVLinks up than its neighbours, or than it had: what it sends to them takes the way over PCIe.

How many a GPU should have is not told anywhere: cards on a bridge use a part of theirs. Its neighbours and its own past
tell it.
"""

from collections.abc import Sequence

from fleetops.checks.support.gpus import called, gpus_of, reset_next
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.device_service import DEVICE_SERVICES
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, NVLINKS, Gpu, NvLinks
from fleetops.model.past import Remembered

_NAME = "gpu-nvlink"


def judge(observation: Observation) -> list[Finding]:
    """Nothing is said where it was not asked for, nor of links that are not told because a GPU is lost: that is."""
    if NVLINKS.name not in observation.node_facts.readings:
        return []
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown  # whatever keeps the GPUs from being read keeps their links from it too
    reported = observation.node_facts.value(GPUS)
    if reported and reported.lost:
        return []
    if unknown := lacking(_NAME, observation, NVLINKS):
        return unknown
    all_of_them = observation.node_facts.value(NVLINKS) or ()
    short = [
        (one, wanted) for one in all_of_them if one.up < (wanted := _wanted(observation, one, all_of_them))
    ]
    if not short:
        return []
    gpus = {gpu.uuid: gpu for gpu in gpus_of(observation)}
    said = listed(f"{_called(gpus, one)}: {one.up} of {wanted} links up" for one, wanted in short)
    known = [gpus[one.uuid] for one, _ in short if one.uuid in gpus]
    following = reset_next(observation, known) if known else {"command": "probe"}
    return [found(_NAME, observation, Severity.CRITICAL, "NVLinks down", said, **following)]


def _wanted(observation: Observation, one: NvLinks, all_of_them: Sequence[NvLinks]) -> int:
    """As many as the best of its model on this node, or as it had; on a machine with NVSwitches at least one."""
    names = {gpu.uuid: gpu.name for gpu in gpus_of(observation)}
    alike = [other.up for other in all_of_them if names.get(other.uuid) == names.get(one.uuid)]
    had = [round(sample.value) for sample in observation.past.series.get(_number(one), ())]
    services = observation.node_facts.value(DEVICE_SERVICES)
    return max(*alike, *had, 1 if services and services.switches else 0)


def _called(gpus: dict[str, Gpu], one: NvLinks) -> str:
    return called(gpus[one.uuid]) if one.uuid in gpus else f"GPU {one.index} ({one.uuid})"


def _number(one: NvLinks) -> str:
    return f"gpu-{one.uuid}-nvlinks-up-count"


def remember(observation: Observation) -> Remembered:
    """How many links each GPU has up."""
    known = observation.node_facts.value(NVLINKS) or ()
    return Remembered(numbers={_number(one): one.up for one in known})


CHECK = Check(name=_NAME, title="every GPU's NVLinks are up", judge=judge, sweeps_only=True)
