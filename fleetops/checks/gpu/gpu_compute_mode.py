"""GPUs that do not let every process in (compute mode), or not all in the same way."""

from dataclasses import replace

from fleetops.checks.support.gpus import driver_host, gpus_of
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-compute-mode"
_PROHIBITED = "Prohibited"


def judge(observation: Observation) -> list[Finding]:
    """`Prohibited` lets nobody in, which is critical; modes that differ within a node are a warning."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    told = gpus_of(observation, lambda gpu: bool(gpu.health.compute_mode))
    modes = {mode: [gpu for gpu in told if gpu.health.compute_mode == mode] for mode in _modes(observation)}
    if _PROHIBITED not in modes and len(modes) < 2:
        return []
    said = "; ".join(f"{mode}: {listed(f'GPU {gpu.index}' for gpu in gpus)}" for mode, gpus in modes.items())
    severity = Severity.CRITICAL if _PROHIBITED in modes else Severity.WARNING
    evidence = f"{said}{'; no process can use a GPU that is prohibited' if _PROHIBITED in modes else ''}"
    finding = found(_NAME, observation, severity, "compute mode unexpected", evidence)
    return [replace(finding, next=f"fleetops run {driver_host(observation)} -- nvidia-smi -c DEFAULT")]


def _modes(observation: Observation) -> list[str]:
    return sorted({gpu.health.compute_mode for gpu in gpus_of(observation) if gpu.health.compute_mode})


CHECK = Check(name=_NAME, title="every process may use the GPUs", judge=judge, sweeps_only=True)
