"""A GPU of which the driver cannot read a field that it knows (`Unknown Error`, `ERR!`, `GPU is lost`)."""

from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-failing"


def judge(observation: Observation) -> list[Finding]:
    """One finding for each GPU, with the fields and what stands in them; a lost one is told by `gpu-lost`."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    lost = {one.bdf for one in gpus.lost} if gpus else set()
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "GPU failing",
            f"GPU {gpu.index} at {gpu.bdf}: {listed(f'{field} reads {text!r}' for field, text in gpu.failing)}",
            command="probe",
        )
        for gpu in (gpus.gpus if gpus else ())
        if gpu.failing and gpu.bdf not in lost
    ]


CHECK = Check(name=_NAME, title="every GPU can be read", judge=judge)
