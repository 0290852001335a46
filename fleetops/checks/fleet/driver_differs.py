"""A node whose GPU driver is another version than that of the others with the same GPUs."""

from collections import defaultdict
from collections.abc import Sequence

from fleetops.checks.support.odd import odd_ones
from fleetops.checks.support.saying import found
from fleetops.model.finding import Finding, FleetCheck, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "driver-differs"


def judge(observations: Sequence[Observation]) -> list[Finding]:
    """Among the nodes with GPUs of one model; containers of one host have its driver, and differ together."""
    by_model: dict[str, dict[str, str]] = defaultdict(dict)
    for one in observations:
        gpus = one.node_facts.value(GPUS)
        if gpus and gpus.model and gpus.driver_version:
            by_model[gpus.model][one.node.name] = gpus.driver_version
    seen = {one.node.name: one for one in observations}
    return [
        found(
            _NAME,
            seen[odd.name],
            Severity.WARNING,
            "driver differs",
            f"its driver is {odd.has}; {odd.of} nodes with {model} have {odd.most_have}",
            command="probe",
        )
        for model, versions in by_model.items()
        for odd in odd_ones(versions)
    ]


CHECK = FleetCheck(name=_NAME, title="its GPU driver is the version that the others have", judge=judge)
