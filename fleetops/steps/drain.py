"""Before a clean restart: wait until a healthy service has no request left, by its own metrics.

No router is asked to send its requests elsewhere: new ones may come at any time, so the service has to stay idle for a
while. One that is wedged never gets there and is refused: that is what `fleetops recover` is for.
"""

from dataclasses import replace

from fleetops.engines import engine
from fleetops.engines.condition import Condition, condition
from fleetops.model.engine import Service
from fleetops.model.errors import Refused, StepFailed, Unreachable
from fleetops.model.fleet import Profile
from fleetops.model.load import Others
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.serving import OK, NoGeneration, asking, generate, others_served

_POLL_S = 2.0
_METRICS_S = 10.0
_GENERATION_S = 30.0


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Only reads, and one token asked of the service. What is no healthy service is refused before anything is done."""
    against = _objection(situation)
    return PlannedStep(
        step="drain",
        title="wait until it is idle",
        host=situation.node_name,
        detail=f"no request running or waiting for {options.seconds('quiet'):g} s, by its own metrics;"
        f" within {options.seconds('deadline'):g} s, else nothing is stopped",
        blocked=against.message if against else "",
        hopeless=against is not None,
        guard=against.guard if against else "",
        mend=against.hint if against else "",
    )


def run(desk: Desk, options: Options) -> str:
    """Idle for a while. Raises StepFailed at the deadline, Refused for a service that is not well or does not tell."""
    service = _the_service(desk.look())
    _must_generate(desk, service)
    deadline_s, quiet_s = options.seconds("deadline"), options.seconds("quiet")
    began = desk.now()
    idle_since: float | None = None
    while True:
        seen = _requests(desk, service)
        now = desk.now()
        is_idle = isinstance(seen, Others) and not seen.running and not seen.waiting
        idle_since = (now if idle_since is None else idle_since) if is_idle else None
        if idle_since is not None and now - idle_since >= quiet_s:
            return f"idle after {idle_since - began:.0f} s: no request running or waiting for {quiet_s:g} s"
        if now - began >= deadline_s:
            raise _not_idle(desk.situation.node_name, seen, deadline_s)
        if not isinstance(seen, Others):
            service = _the_service(desk.look())
        desk.tell(f"waiting until it is idle: {_told(seen)}")
        desk.wait(_POLL_S)


def _objection(situation: Situation) -> Refused | None:
    """Why there is nothing to wait for; None for one service whose processes all live."""
    try:
        _the_service(situation)
    except Refused as error:
        return error
    return None


def _the_service(situation: Situation) -> Service:
    """The healthy service of the node. Raises Refused, with what to type instead."""
    node, found = situation.node_name, situation.attribution.services
    recover = f"fleetops recover {node} --dry-run"
    if not situation.attribution.known:
        raise Refused(
            f"what runs on {node} is not known", guard="service", host=node, hint=f"fleetops probe {node}"
        )
    for service in found:
        how = condition(service)
        if how in {Condition.WEDGED, Condition.ORPHANED}:
            why = f"the service on {node} is wedged ({how.value}): it will not finish its requests"
            raise Refused(why, guard="wedged", host=node, hint=recover)
        if how is Condition.STARTING:
            why = f"the service on {node} is still coming up ({how.value})"
            raise Refused(why, guard="starting", host=node, hint=f"fleetops probe {node} shows how it fares")
    if len(found) != 1 or found[0].port is None:
        why = f"{len(found) or 'no'} service{'s' if len(found) > 1 else ''} of {node} to wait for"
        raise Refused(f"there is {why}" if not found else why, guard="service", host=node, hint=recover)
    return found[0]


def _profile(situation: Situation, service: Service) -> Profile:
    """Whom to ask: the service that runs, which may be another than the one that shall be launched."""
    own = situation.inventory.profiles.get(situation.observation.node.profile)
    for profile in (situation.profile, own):
        if profile and (profile.port, profile.engine) == (service.port, service.engine):
            return profile
    known = situation.profile or own or Profile(name="", engine=service.engine, model="", ranks=1, port=0)
    return replace(known, engine=service.engine, port=service.port or 0)


def _must_generate(desk: Desk, service: Service) -> None:
    """Processes that live prove nothing, and metrics are kept by another process than the one that hangs."""
    node = desk.situation.node_name
    try:
        to_ask = asking(desk, _profile(desk.situation, service))
        generate(to_ask, engine(service.engine), 1, deadline_s=_GENERATION_S)
    except NoGeneration as error:
        if not error.busy:
            raise Refused(
                f"the service on {node} is wedged: asked for one token, {error}",
                guard="wedged",
                host=node,
                hint=f"fleetops recover {node} --dry-run",
            ) from error


def _requests(desk: Desk, service: Service) -> Others | str:
    """How many it has; why that could not be told this time. Raises Refused where it never tells."""
    of = engine(service.engine)
    to_ask = asking(desk, _profile(desk.situation, service))
    try:
        status, seen = others_served(to_ask, of, deadline_s=_METRICS_S)
    except (OSError, Unreachable) as error:
        return f"{of.metrics_path}: {to_ask.masked(str(error) or type(error).__name__)}"
    if seen is None:
        node = desk.situation.node_name
        said = "does not tell its requests" if status == OK else f"answers {status}"
        raise Refused(
            f"whether requests run on {node} cannot be told: {of.metrics_path} {said}",
            guard="metrics",
            host=node,
            hint="launch the service with its metrics on; or --from stop-service, which cuts off what still runs",
        )
    return seen


def _not_idle(node: str, seen: Others | str, deadline_s: float) -> StepFailed:
    return StepFailed(
        f"the service on {node} is not idle after {deadline_s:g} s: {_told(seen)}; nothing was stopped",
        host=node,
        hint="take its requests away and run it again; or --from stop-service, which cuts off what still runs",
    )


def _told(seen: Others | str) -> str:
    return f"{seen.running} running, {seen.waiting} waiting" if isinstance(seen, Others) else seen


STEP = Step(
    name="drain",
    summary="wait until a healthy service has no request left, by its own metrics; a wedged one is refused",
    plan=plan,
    run=run,
    guards=("identity",),
    options={
        "deadline": OptionSpec(
            kind="duration", default=600, meaning="how long it may take; then nothing is stopped"
        ),
        "quiet": OptionSpec(
            kind="duration", default=5, meaning="how long no request may run or wait until it counts as idle"
        ),
    },
)
