"""GPUs that are not part of the NVSwitch fabric: nvidia-smi works, and every CUDA program fails (error 802)."""

from dataclasses import replace

from fleetops.checks.support.gpus import called, driver_host, gpus_of
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu

_NAME = "gpu-fabric"
# nvidia-smi manual, Fabric. The driver joins the fabric once the Fabric Manager has set it up.
_JOINED, _WAITING = "Completed", frozenset({"Not Started", "In Progress"})
_NOT_SUPPORTED = frozenset({"", "Not Supported"})
_FINE = "Success"
_HEALTH = {"": None, "Healthy": None, "Limited Capacity": Severity.WARNING, "Unhealthy": Severity.CRITICAL}


def judge(observation: Observation) -> list[Finding]:
    """Critical where a GPU has not joined or joined with an error; a word that is not known is unknown."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = gpus_of(observation, lambda gpu: gpu.fabric not in _NOT_SUPPORTED)
    outside = [gpu for gpu in gpus if gpu.fabric in _WAITING or _failed(gpu)]
    strange = [gpu for gpu in gpus if gpu not in outside and _is_strange(gpu)]
    findings = []
    if outside:
        why = listed(f"{called(gpu)}: {_state(gpu)}" for gpu in outside)
        evidence = f"{why}; CUDA does not initialise on a GPU that has not joined"
        findings.append(_finding(observation, Severity.CRITICAL, "fabric not ready", evidence))
    if strange:
        why = listed(f"{called(gpu)}: {_state(gpu)}" for gpu in strange)
        findings.append(_finding(observation, Severity.UNKNOWN, "fabric state not known", why))
    if poor := [gpu for gpu in gpus if _HEALTH.get(gpu.health.fabric_health) is not None]:
        why = listed(f"{called(gpu)}: {gpu.health.fabric_health}" for gpu in poor)
        worst = max(_HEALTH[gpu.health.fabric_health] or Severity.OK for gpu in poor)
        findings.append(_finding(observation, worst, "fabric unhealthy", why))
    return findings


def _failed(gpu: Gpu) -> bool:
    return gpu.fabric == _JOINED and gpu.health.fabric_status not in {"", _FINE}


def _is_strange(gpu: Gpu) -> bool:
    return gpu.fabric != _JOINED or gpu.health.fabric_health not in _HEALTH


def _state(gpu: Gpu) -> str:
    told = (gpu.fabric, gpu.health.fabric_status, gpu.health.fabric_health)
    return ", ".join(word for word in told if word)


def _finding(observation: Observation, severity: Severity, subject: str, evidence: str) -> Finding:
    told = found(_NAME, observation, severity, subject, evidence)
    return replace(
        told, next=f"fleetops run {driver_host(observation)} -- systemctl status nvidia-fabricmanager"
    )


CHECK = Check(name=_NAME, title="every GPU has joined the NVSwitch fabric", judge=judge, sweeps_only=True)
