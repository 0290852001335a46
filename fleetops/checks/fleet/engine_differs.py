"""A node whose engine's source is another release than that of the others with the same profile."""

from collections.abc import Sequence

from fleetops.checks.support.odd import differing
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.finding import Finding, FleetCheck, Observation

_NAME = "engine-differs"


def judge(observations: Sequence[Observation]) -> list[Finding]:
    """Among the nodes of one profile; a source that could not be read is another check's matter."""
    return differing(_NAME, observations, "engine differs", "source", _release)


def _release(observation: Observation) -> tuple[str, str] | None:
    source, profile = observation.node_facts.value(ENGINE_SOURCE), observation.profile
    if profile is None or source is None or not source.version:
        return None
    return f"of profile {profile.name}", source.version


CHECK = FleetCheck(
    name=_NAME, title="its engine is the release that the others of its profile have", judge=judge
)
