"""Requests that wait while none is worked on: a scheduler that hangs behind an HTTP server that still answers."""

from fleetops.checks.support.saying import counted, found
from fleetops.model.engine import SERVICE_METRICS
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.past import Remembered

_NAME = "queue-stuck"
_WAITING, _RUNNING = "requests-waiting-count", "requests-running-count"


def judge(observation: Observation) -> list[Finding]:
    """Waiting and none running, in this sweep and the one before it: a moment of it is ordinary between two batches."""
    if SERVICE_METRICS.name not in observation.node_facts.readings:
        return []
    told = observation.node_facts.get(SERVICE_METRICS)
    if isinstance(told, Missing):
        if told.gap is Gap.ABSENT:
            return []
        return [found(_NAME, observation, Severity.UNKNOWN, "queue not known", str(told), command="probe")]
    before = (observation.past.last(_WAITING) or 0, observation.past.last(_RUNNING))
    if not told.waiting or told.running != 0 or not before[0] or before[1] != 0:
        return []
    evidence = (
        f"{counted(told.waiting, 'request')} wait and none is running, as in the sweep before ({before[0]:g})"
    )
    return [found(_NAME, observation, Severity.CRITICAL, "queue stuck", evidence, command="probe")]


def remember(observation: Observation) -> Remembered:
    """How many wait and run, for the next sweep and for `history`."""
    told = observation.node_facts.value(SERVICE_METRICS)
    both = {_WAITING: told.waiting, _RUNNING: told.running} if told else {}
    return Remembered(numbers={name: count for name, count in both.items() if count is not None})


CHECK = Check(name=_NAME, title="waiting requests are worked on", judge=judge, sweeps_only=True)
