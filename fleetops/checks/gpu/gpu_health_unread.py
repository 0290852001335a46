"""What the driver tells of a GPU's health in words that are not known here: it is not taken for healthy."""

from dataclasses import replace

from fleetops.checks.support.gpus import called, gpus_of
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-health-unread"


def judge(observation: Observation) -> list[Finding]:
    """One unknown for all GPUs, each field with the text that stands there."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    unread = gpus_of(observation, lambda gpu: bool(gpu.health.unread))
    if not unread:
        return []
    said = listed(
        f"{called(gpu)}: {path} reads {text!r}" for gpu in unread for path, text in gpu.health.unread
    )
    told = found(_NAME, observation, Severity.UNKNOWN, "GPU health not known", said)
    return [replace(told, next=f"fleetops run {observation.node.name} -- nvidia-smi -q")]


CHECK = Check(name=_NAME, title="the GPUs' health is told in known words", judge=judge, sweeps_only=True)
