"""Every GPU is there: a lost one only makes the list shorter, and nvidia-smi's exit status may still be 0."""

from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-count"


def judge(observation: Observation) -> list[Finding]:
    """Judged by the inventory's number, where it states one, and by what nvidia-smi complains of."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    if gpus is None:
        return []
    wanted, seen = observation.node.gpus, len(gpus.gpus)
    findings = []
    if gpus.problems or (wanted is not None and seen < wanted):
        there = counted(seen, "GPU") if wanted is None else f"{seen} of {wanted} GPUs"
        said = f"; nvidia-smi says: {listed(gpus.problems)}" if gpus.problems else ""
        findings.append(
            found(
                _NAME,
                observation,
                Severity.CRITICAL,
                "GPUs missing",
                f"{there} answer{said}",
                command="probe",
            )
        )
    elif wanted is not None and seen > wanted:
        evidence = f"{seen} GPUs answer, the inventory states {wanted}"
        findings.append(found(_NAME, observation, Severity.WARNING, "more GPUs than stated", evidence))
    return findings


CHECK = Check(name=_NAME, title="every GPU answers", judge=judge)
