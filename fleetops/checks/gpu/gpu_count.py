"""Every GPU is there: a lost one only makes the list shorter, and nvidia-smi's exit status may still be 0."""

from fleetops.checks.support.saying import counted, found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS

_NAME = "gpu-count"


def judge(observation: Observation) -> list[Finding]:
    """Judged by the inventory's number, where it states one, and by what nvidia-smi complains of.

    A GPU that the driver calls lost is told by `gpu-lost`, and not counted as missing here again.
    """
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    if gpus is None:
        return []
    wanted, seen = observation.node.gpus, len(gpus.gpus)
    told = {one.said for one in gpus.lost}
    problems = [problem for problem in gpus.problems if problem not in told]
    accounted = seen + gpus.listed + sum(1 for one in gpus.lost if one.said in gpus.problems)
    findings = []
    if problems or (wanted is not None and accounted < wanted):
        there = counted(seen, "GPU") if wanted is None else f"{seen} of {wanted} GPUs"
        said = f"; nvidia-smi says: {listed(problems)}" if problems else ""
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
