"""A node whose engine's source is another release than that of the others with the same profile."""

from collections import defaultdict
from collections.abc import Sequence

from fleetops.checks.support.odd import odd_ones
from fleetops.checks.support.saying import found
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.finding import Finding, FleetCheck, Observation, Severity

_NAME = "engine-differs"


def judge(observations: Sequence[Observation]) -> list[Finding]:
    """Among the nodes of one profile; a source that could not be read is another check's matter."""
    by_profile: dict[str, dict[str, str]] = defaultdict(dict)
    for one in observations:
        source = one.node_facts.value(ENGINE_SOURCE)
        if one.profile and source and source.version:
            by_profile[one.profile.name][one.node.name] = source.version
    seen = {one.node.name: one for one in observations}
    return [
        found(
            _NAME,
            seen[odd.name],
            Severity.WARNING,
            "engine differs",
            f"its source is {odd.has}; {odd.of} nodes of profile {profile} have {odd.most_have}",
            command="probe",
        )
        for profile, versions in by_profile.items()
        for odd in odd_ones(versions)
    ]


CHECK = FleetCheck(
    name=_NAME, title="its engine is the release that the others of its profile have", judge=judge
)
