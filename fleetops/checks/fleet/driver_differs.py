"""A node whose GPU driver is another version than that of the others with the same GPUs."""

from collections.abc import Sequence

from fleetops.checks.support.odd import differing
from fleetops.model.finding import Finding, FleetCheck, Observation
from fleetops.model.gpu import GPUS

_NAME = "driver-differs"


def judge(observations: Sequence[Observation]) -> list[Finding]:
    """Among the nodes with GPUs of one model; containers of one host have its driver, and differ together."""
    return differing(_NAME, observations, "driver differs", "driver", _version)


def _version(observation: Observation) -> tuple[str, str] | None:
    gpus = observation.node_facts.value(GPUS)
    if gpus is None or not gpus.model or not gpus.driver_version:
        return None
    return f"with {gpus.model}", gpus.driver_version


CHECK = FleetCheck(name=_NAME, title="its GPU driver is the version that the others have", judge=judge)
