"""Uncorrectable memory errors of a GPU that were not there at the last sweep.

The aggregate counts since the GPU was made, so its difference is what is new; the volatile count begins again with the
driver, without persistence with every client (nvidia-smi manual, ECC Errors), and is not looked at.
"""

from fleetops.checks.support.gpus import called, gpus_of, hardware_host
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.duration import show_duration
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.past import Remembered

_NAME = "gpu-ecc-uncorrected"


def judge(observation: Observation) -> list[Finding]:
    """Critical where they came since the last sweep, a warning where since the first that is remembered."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    findings = [*_new(observation)]
    if worn := gpus_of(observation, lambda gpu: gpu.health.sram_threshold_exceeded is True):
        findings.append(_worn(observation, worn))
    return findings


def _new(observation: Observation) -> list[Finding]:
    new = {gpu.index: _since(observation, gpu, -1) for gpu in gpus_of(observation)}
    earlier = {gpu.index: _since(observation, gpu, 0) for gpu in gpus_of(observation)}
    told = [gpu for gpu in gpus_of(observation) if new[gpu.index] or earlier[gpu.index]]
    if not told:
        return []
    severity = Severity.CRITICAL if any(new.values()) else Severity.WARNING
    said = listed(_said(observation, gpu) for gpu in told)
    evidence = f"{said}; what ran on it has lost its data, and a row may wait for a reset to be replaced"
    return [found(_NAME, observation, severity, "uncorrectable ECC errors", evidence, command="probe")]


def _since(observation: Observation, gpu: Gpu, place: int) -> int:
    """How many more than at that remembered place: 0 the first, -1 the last. A count that fell was cleared."""
    samples = observation.past.series.get(_number(gpu), ())
    now = gpu.ecc_uncorrected_aggregate
    return max(0, now - round(samples[place].value)) if samples and now is not None else 0


def _said(observation: Observation, gpu: Gpu) -> str:
    place = -1 if _since(observation, gpu, -1) else 0
    at = observation.past.series[_number(gpu)][place].at
    ago = show_duration(observation.node_facts.at - at)
    count = _since(observation, gpu, place)
    return f"{called(gpu)}: {count} more in the last {ago}, {gpu.ecc_uncorrected_aggregate} since it was made"


def _worn(observation: Observation, worn: list[Gpu]) -> Finding:
    evidence = (
        f"{listed(map(called, worn))}: more uncorrectable errors in SRAM than NVIDIA lets a GPU have;"
        " it qualifies for replacement"
    )
    person = f"replace {listed(map(called, worn))} of {hardware_host(observation)}"
    return found(_NAME, observation, Severity.CRITICAL, "ECC threshold exceeded", evidence, person=person)


def _number(gpu: Gpu) -> str:
    return f"gpu-{gpu.uuid}-ecc-uncorrected-count"


def remember(observation: Observation) -> Remembered:
    """Each GPU's count since it was made."""
    counts = {_number(gpu): gpu.ecc_uncorrected_aggregate for gpu in gpus_of(observation)}
    return Remembered(numbers={name: count for name, count in counts.items() if count is not None})


CHECK = Check(
    name=_NAME, title="no GPU has new uncorrectable errors", judge=judge, sweeps_only=True, latched=True
)
