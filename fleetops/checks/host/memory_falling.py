"""Host memory that falls so fast that it is gone before the next sweeps could show it.

Judged by the steps between sweeps, not by one line through all of them: a service that has loaded leaves one large step
behind, and then nothing falls any more. Both the middle step and the latest must fall, and the slower of the two counts.
"""

from itertools import pairwise
from statistics import median

from fleetops.checks.support.machine import gaps, of_node, told
from fleetops.model.duration import show_duration
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.fleet import HostMemory, Profile
from fleetops.model.machine import IDENTITY, MEMORY
from fleetops.model.past import Sample
from fleetops.model.units import show_gb

_NAME = "memory-falling"
_SERIES = "mem-available-bytes"
_LATEST = 6
_LEAST = 3
_READY_DEADLINE_S = 900.0


def judge(observation: Observation) -> list[Finding]:
    """What a launch takes while it loads is no fall: samples count from when the youngest service had to be ready."""
    if unknown := gaps(_NAME, of_node(observation), MEMORY, IDENTITY):
        return unknown
    memory, at = observation.node_facts.value(MEMORY), observation.node_facts.at
    if memory is None:
        return []
    settled_at = _settled_at(observation)
    before = [one for one in observation.past.series.get(_SERIES, ()) if settled_at <= one.at < at]
    floor_bytes = (observation.profile.host_memory if observation.profile else HostMemory()).floor_bytes
    samples = [*before, Sample(at=at, value=memory.available_bytes)][-_LATEST:]
    if at < settled_at or len(samples) < _LEAST or memory.available_bytes < floor_bytes:
        return []
    return _falling(observation, samples, floor_bytes)


def _settled_at(observation: Observation) -> float:
    """From when on nothing is loading any more; where no service runs since ever."""
    facts, identity = observation.node_facts, observation.node_facts.value(IDENTITY)
    launchers = [service.launcher for service in observation.services if service.launcher]
    if identity is None or not launchers:
        return 0.0
    youngest_s = min(one.age_s(identity) for one in launchers)
    profile: Profile | None = observation.profile
    return facts.at - youngest_s + (profile.ready_deadline_s if profile else _READY_DEADLINE_S)


def _falling(observation: Observation, samples: list[Sample], floor_bytes: int) -> list[Finding]:
    every_s = observation.past.every_s or median(later.at - one.at for one, later in pairwise(samples))
    rate = falling_per_s(samples)
    ahead = observation.thresholds["memory-falling-sweeps-count"]
    left_s = (samples[-1].value - floor_bytes) / rate if rate > 0 else float("inf")
    if left_s >= ahead * every_s:
        return []
    evidence = (
        f"{show_gb(samples[0].value)} were available {show_duration(samples[-1].at - samples[0].at)} ago,"
        f" {show_gb(samples[-1].value)} are now; at {show_gb(rate * 60)} a minute the floor of"
        f" {show_gb(floor_bytes)} is reached in {show_duration(left_s)}, and a sweep comes every"
        f" {show_duration(every_s)}"
    )
    severity = Severity.CRITICAL if left_s < every_s else Severity.WARNING
    return [told(_NAME, of_node(observation), severity, "memory falling", evidence)]


def falling_per_s(samples: list[Sample]) -> float:
    """How many bytes are lost in a second, by the slower of the middle and the latest step; 0 where it is not falling."""
    steps = [
        (one.value - later.value) / (later.at - one.at)
        for one, later in pairwise(samples)
        if later.at > one.at
    ]
    return max(0.0, min(median(steps), steps[-1])) if steps else 0.0


CHECK = Check(name=_NAME, title="host memory does not keep falling", judge=judge, sweeps_only=True)
