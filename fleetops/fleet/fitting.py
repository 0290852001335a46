"""Whether what a node's profile asks would fit on it, by the arithmetic and the proofs of `fleetops size`, for every sweep.

A proof reads the engine's source: it is made again only when the profile, the source, the room or the day has changed.
"""

import hashlib

from fleetops.fleet.probe import Memory
from fleetops.fleet.read import Sessions
from fleetops.fleet.size import size_observed
from fleetops.fleet.size_given import Given
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.errors import FleetopsError
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory
from fleetops.model.machine import CGROUP, MEMORY
from fleetops.model.size import FIT, Fit, Sizing
from fleetops.model.units import GB
from fleetops.steps.support.proof import flags_to_prove
from fleetops.store.proofs import Proofs, tracer_digest

_DAY_S = 86_400


def fit(
    sessions: Sessions, inventory: Inventory, observation: Observation, *, records: Memory, proofs: Proofs
) -> Fit | Missing | None:
    """None where there is nothing to size: no profile, none of its flags takes host memory, or the node says nothing."""
    if observation.silence or observation.profile is None or not flags_to_prove(observation.profile):
        return None
    of = _of(observation)
    known = Fit.remembered(observation.past.words.get(FIT.name, ""))
    if known and known.of == of:
        return known
    try:
        ask = sessions.session(observation.node).run
        found = size_observed(ask, inventory, observation, Given(), records=records, proofs=proofs)
    except FleetopsError as error:
        return Missing(Gap.UNPARSABLE, error.message, error.hint)
    return _told(found, of)


def _of(observation: Observation) -> str:
    facts, baseline = observation.node_facts, observation.baseline
    source, memory, cgroup = facts.value(ENGINE_SOURCE), facts.value(MEMORY), facts.value(CGROUP)
    room = baseline.available_bytes if baseline else memory.available_bytes if memory else 0
    about = (
        tracer_digest(),
        repr(observation.profile),
        repr(source),
        round(room / GB),
        memory.total_bytes if memory else 0,
        cgroup.limit_bytes if cgroup else 0,
        int(facts.at // _DAY_S),
    )
    return hashlib.sha256(repr(about).encode()).hexdigest()


def _told(found: Sizing, of: str) -> Fit:
    says = "; ".join(found.reasons) or (found.budget.summary if found.budget else "")
    return Fit(of=of, verdict=found.verdict, says=says, next=found.next, contradicted=found.contradicted)
