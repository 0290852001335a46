"""Whether a service that a run has started still lives: its process, its log, its guard, its ranks."""

from fleetops.engines.condition import Condition, condition
from fleetops.model.engine import Service
from fleetops.model.errors import StepFailed, Unreachable
from fleetops.model.fleet import Profile
from fleetops.steps.support.base import Desk
from fleetops.steps.support.log_follow import Follower
from fleetops.steps.support.memory_guard.watching import check_guard

_AGAIN_S = 2.0
_LOOK_EVERY_S = 5.0
# How often a service that does not answer is looked at: what kills it may still be under way.
_DYING_POLLS = 4
_DYING_POLL_S = 0.5


def read_on(desk: Desk, follower: Follower, until: float) -> bool:
    """Read on; a host that cannot be reached for a while is asked again until the deadline."""
    try:
        return follower.read_on(desk)
    except Unreachable as error:
        if desk.now() >= until:
            raise
        desk.tell(f"{error.message}; asking again")
        desk.wait(_AGAIN_S)
        return False


def must_live(desk: Desk, follower: Follower, profile: Profile) -> None:
    """Its process and its log at every poll; every few seconds its guard, and its ranks, which may die unnoticed by both."""
    if follower.alive and not follower.report.failure:
        _must_be_guarded(desk, follower)
    if follower.alive and not follower.report.failure:
        dead = _dead_ranks(desk, follower)
        if not dead:
            return
    else:
        dead = ""
        while follower.read_on(desk):
            pass
    cause = follower.report.failure or dead or "its process ended, and its log names no cause"
    raise StepFailed(
        f"{profile.name} died: {cause}",
        host=follower.node,
        hint=f"see {follower.started.log} on {follower.node}",
    )


def _must_be_guarded(desk: Desk, follower: Follower) -> None:
    """A guard that is gone because its service is leaves it to the service's own log to say why."""
    try:
        check_guard(desk, ready=follower.report.ready)
    except StepFailed:
        follower.read_on(desk)
        if follower.alive and not follower.report.failure:
            raise


def _dead_ranks(desk: Desk, follower: Follower) -> str:
    """What the checks find wrong with the ranks of this service; "" while they live, and between two looks."""
    if desk.now() < follower.next_look_at:
        return ""
    follower.next_look_at = desk.now() + _LOOK_EVERY_S
    situation = desk.look()
    ours = [
        one
        for one in situation.observation.services
        if one.launcher and one.launcher.pid == follower.started.pid
    ]
    if not any(_is_lost(service, ready=follower.report.ready) for service in ours):
        return ""
    told = [
        one.evidence
        for one in situation.findings
        if one.check in {"ranks-dead", "ghost-leaders", "memory-low"}
    ]
    return "; ".join(told) or "some of its ranks are dead"


def _is_lost(service: Service, *, ready: bool) -> bool:
    """While it comes up, ranks that are not there yet are no loss; dead ones always are."""
    if ready:
        return condition(service) is Condition.WEDGED
    return any(rank.process.is_zombie for rank in service.ranks)


def why_idle(desk: Desk, follower: Follower, profile: Profile, why: str) -> StepFailed:
    """The error for a service that does not generate; where it is dying, its cause of death is raised instead."""
    for _ in range(_DYING_POLLS):
        follower.next_look_at = 0.0
        read_on(desk, follower, desk.now() + _DYING_POLL_S)
        must_live(desk, follower, profile)
        desk.wait(_DYING_POLL_S)
    return StepFailed(
        f"{profile.name} says it is ready and does not generate: {why}",
        host=follower.node,
        hint=f"see {follower.started.log} on {follower.node}",
    )
