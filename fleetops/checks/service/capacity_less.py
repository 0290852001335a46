"""A KV cache that holds less than at the last launch that was recorded: the same service, serving fewer at once."""

from fleetops.checks.support.saying import found
from fleetops.model.engine import SERVICE_METRICS
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.past import Remembered

_NAME = "capacity-less"
# What differs by less comes from memory that the driver and the graphs took a little more of.
_SAME = 0.02


def judge(observation: Observation) -> list[Finding]:
    """Device and host tokens by the service's own metrics, against the last launch of the same profile on this node."""
    told, last = observation.node_facts.value(SERVICE_METRICS), observation.last_launch
    profile = observation.profile
    if told is None or last is None or profile is None or last.profile != profile.name:
        return []
    pools = (
        ("device", told.device_tokens, last.capacity.device_tokens),
        ("host", told.host_tokens, last.capacity.host_tokens),
    )
    less = [
        f"{now:,} {name} tokens where {then:,} were recorded"
        for name, now, then in pools
        if now is not None and then and now < then * (1 - _SAME)
    ]
    if not less:
        return []
    evidence = f"{'; '.join(less)} (run {last.run_id})"
    return [found(_NAME, observation, Severity.WARNING, "capacity is less", evidence, command="probe")]


def remember(observation: Observation) -> Remembered:
    """The pools, for `history`."""
    told = observation.node_facts.value(SERVICE_METRICS)
    both = {"device-tokens-count": told.device_tokens, "host-tokens-count": told.host_tokens} if told else {}
    return Remembered(numbers={name: count for name, count in both.items() if count is not None})


CHECK = Check(name=_NAME, title="the KV cache is as large as it was", judge=judge, sweeps_only=True)
