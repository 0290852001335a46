"""GPUs that are split (MIG) where a service wants them whole, or where the node's others are not."""

from dataclasses import replace

from fleetops.checks.support.gpus import driver_host, gpus_of
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-mig-unexpected"


def judge(observation: Observation) -> list[Finding]:
    """A profile's ranks take a GPU each, so that with a profile none may be split; without one all or none."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    split = gpus_of(observation, lambda gpu: gpu.mig is True)
    whole = gpus_of(observation, lambda gpu: gpu.mig is not True)
    profile = observation.profile
    if not split or (profile is None and not whole):
        return []
    names = listed(f"GPU {gpu.index}" for gpu in split)
    if profile:
        evidence = f"{names}: MIG is on; each rank of {profile.name} takes a whole GPU"
    else:
        evidence = f"{names}: MIG is on; {listed(f'GPU {gpu.index}' for gpu in whole)}: not"
    told = found(_NAME, observation, Severity.WARNING, "MIG unexpected", evidence)
    return [replace(told, next=f"fleetops run {driver_host(observation)} -- nvidia-smi mig -lgi")]


CHECK = Check(name=_NAME, title="GPUs are whole where they should be", judge=judge, sweeps_only=True)
