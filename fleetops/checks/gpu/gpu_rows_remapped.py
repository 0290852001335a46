"""Rows of a GPU's memory that wait for a reset to be replaced, and rows that could not be replaced any more."""

from fleetops.checks.support.gpus import called, gpus_of, hardware_host, reset_next
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu

_NAME = "gpu-rows-remapped"


def judge(observation: Observation) -> list[Finding]:
    """A pending remap (or repair, on newer GPUs) takes effect with a reset; after a failed one the GPU is replaced."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    failed = gpus_of(observation, lambda gpu: gpu.health.remap_failure is True)
    pending = gpus_of(observation, lambda gpu: gpu.health.remap_pending is True)
    repair = gpus_of(observation, lambda gpu: gpu.health.repair_pending is True)
    findings = []
    if failed:
        evidence = f"{listed(map(_said, failed))}: a row could not be remapped, its spare rows are used up"
        person = f"replace {listed(map(called, failed))} of {hardware_host(observation)}"
        findings.append(
            found(_NAME, observation, Severity.CRITICAL, "row remap failed", evidence, person=person)
        )
    for waiting, subject in ((pending, "row remap pending"), (repair, "GPU repair pending")):
        if waiting:
            evidence = f"{listed(map(_said, waiting))}: takes effect with the next reset of the GPU"
            following = reset_next(observation, waiting)
            findings.append(found(_NAME, observation, Severity.WARNING, subject, evidence, **following))
    return findings


def _said(gpu: Gpu) -> str:
    health = gpu.health
    rows = [
        f"{count} {kind}"
        for count, kind in (
            (health.rows_uncorrected, "after uncorrectable errors"),
            (health.rows_corrected, "after correctable ones"),
        )
        if count is not None
    ]
    return f"{called(gpu)} ({', '.join(rows)})" if rows else called(gpu)


CHECK = Check(name=_NAME, title="no row of GPU memory waits to be remapped", judge=judge, sweeps_only=True)
