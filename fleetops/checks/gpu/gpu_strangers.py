"""Processes that hold the node's GPUs and belong to no service known here: nothing is reset or killed around them."""

from fleetops.checks.support.saying import found, lacking, listed
from fleetops.engines.attribution import attribute
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import HOLDERS, PROCESSES

_NAME = "gpu-strangers"


def judge(observation: Observation) -> list[Finding]:
    """One finding that names them."""
    if unknown := lacking(_NAME, observation, PROCESSES, HOLDERS):
        return unknown
    strangers = attribute(observation).strangers
    if not strangers:
        return []
    named = listed(f"{one.pid} ({one.title})" for one in strangers)
    return [
        found(
            _NAME,
            observation,
            Severity.WARNING,
            "GPUs held by others",
            f"{named} cannot be shown to be the service's: no step goes on while it holds a GPU",
            command="probe",
        )
    ]


CHECK = Check(name=_NAME, title="only services hold GPUs", judge=judge)
