"""GPUs without persistence mode: the driver lets go of them with their last user, and loads them anew for the next.

That costs seconds at each start and each look, and the volatile counters begin again each time.
"""

from dataclasses import replace

from fleetops.checks.support.gpus import driver_host, gpus_of
from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-persistence-off"


def judge(observation: Observation) -> list[Finding]:
    """One warning for all of them; a GPU of which the driver does not tell is not counted."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    off = gpus_of(observation, lambda gpu: gpu.persistence is False)
    if not off:
        return []
    evidence = f"{counted(len(off), 'GPU')} ({listed(gpu.index for gpu in off)}) without persistence mode"
    told = found(_NAME, observation, Severity.WARNING, "persistence off", evidence)
    return [replace(told, next=f"fleetops run {driver_host(observation)} -- nvidia-smi -pm 1")]


CHECK = Check(name=_NAME, title="GPUs stay loaded (persistence mode)", judge=judge, sweeps_only=True)
