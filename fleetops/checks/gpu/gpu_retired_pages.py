"""Pages of a GPU's memory that were taken out of use: how GPUs before Ampere do without bad memory."""

from fleetops.checks.support.gpus import called, gpus_of, hardware_host, reset_next
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu

_NAME = "gpu-retired-pages"
_MOST = "gpu-retired-pages-count"


def judge(observation: Observation) -> list[Finding]:
    """Pending ones take effect with a reset; a GPU with too many is near the end of what it can retire."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    findings = []
    if worn := gpus_of(observation, lambda gpu: _retired(gpu) >= observation.thresholds[_MOST]):
        said = listed(f"{called(gpu)}: {_retired(gpu)} pages are retired" for gpu in worn)
        evidence = f"{said}; it qualifies for replacement"
        person = f"replace {listed(map(called, worn))} of {hardware_host(observation)}"
        findings.append(
            found(_NAME, observation, Severity.CRITICAL, "pages retired", evidence, person=person)
        )
    if pending := gpus_of(observation, lambda gpu: gpu.health.pages_pending is True):
        evidence = f"{listed(map(called, pending))}: takes effect with the next reset of the GPU"
        following = reset_next(observation, pending)
        findings.append(
            found(_NAME, observation, Severity.WARNING, "page retirement pending", evidence, **following)
        )
    return findings


def _retired(gpu: Gpu) -> int:
    return (gpu.health.pages_single_bit or 0) + (gpu.health.pages_double_bit or 0)


CHECK = Check(name=_NAME, title="no page of GPU memory waits to be retired", judge=judge, sweeps_only=True)
