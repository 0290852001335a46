"""Wait until the service really serves: its own log, its own endpoint, then generations; watched for a while after."""

from fleetops.engines import Engine, engine
from fleetops.model.duration import show_duration
from fleetops.model.engine import LogReport
from fleetops.model.errors import StepFailed, Unreachable
from fleetops.model.fleet import Profile
from fleetops.model.load import SHORT, STANDARD, Load, TroubleKind
from fleetops.model.measure import Measurement
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.asking import BadStatus
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.beside import Beside
from fleetops.steps.support.launching import Started, profile_of
from fleetops.steps.support.liveness import must_live, read_on, why_idle
from fleetops.steps.support.log_follow import Follower
from fleetops.steps.support.measuring import Measuring
from fleetops.steps.support.memory_guard.watching import cause_from_guard, disarm_guard
from fleetops.steps.support.pulse import Pulse
from fleetops.steps.support.serving import NoGeneration, asking, generate
from fleetops.steps.support.stopping import end_own_service, what_is_left
from fleetops.steps.support.unit_start import let_go

_POLL_S = 0.5
_WATCH_POLL_S = 2.0
_REQUEST_S = 60.0
_MEASURE_S = 300.0
# A single answer can come from a service that is about to stall (facts/engines.md F 14): several are asked for.
_PROOFS = 3
# A request that fails in one of these ways says that the service does not work, not that it could not be measured.
_DEADLY = {TroubleKind.REFUSED, TroubleKind.DEADLINE, TroubleKind.BROKEN}


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Only reads and requests to the service itself."""
    profile = profile_of(situation)
    measured = ", a full measurement" if options.switch("fully") else ""
    return PlannedStep(
        step="await-ready",
        title="wait until it serves",
        host=situation.node_name,
        detail=f"log, endpoint, {_PROOFS} generations{measured}; within {profile.ready_deadline_s:g} s, watched {profile.watch_s:g} s more",
    )


def run(desk: Desk, options: Options) -> str:
    """Ready, proven and still there after the watch; a service that does not get there is ended again."""
    profile = profile_of(desk.situation)
    started: Started = desk.memo["started"]
    follower = Follower(engine(profile.engine), started, desk.situation.node_name, LogReport())
    try:
        _until_ready(desk, follower, profile)
        ready_s = desk.now() - started.at
        _prove(desk, follower, profile)
        desk.memo["ready_s"] = ready_s
        desk.memo["measurement"] = _measure(desk, follower, profile, _load(desk, options))
        _watch(desk, follower, profile, options)
    except StepFailed as error:
        # Only what the service itself shows ends it again; a connection that is lost says nothing about it.
        cause = cause_from_guard(desk, gone=not follower.alive)
        message = f"{profile.name} died: {cause}" if cause else error.message
        became = end_own_service(desk, started)
        del desk.memo["started"]
        hint = "; ".join(filter(None, (error.hint, what_is_left(desk))))
        raise StepFailed(f"{message}; {became}", host=error.host, hint=hint) from error
    finally:
        let_go(desk)
    desk.memo["log_report"] = follower.report
    seen = disarm_guard(desk)
    return f"ready in {_spoken(ready_s)}, {_PROOFS} generations answered, watched {_spoken(profile.watch_s)}{seen}"


def _until_ready(desk: Desk, follower: Follower, profile: Profile) -> None:
    until = desk.now() + profile.ready_deadline_s
    told = ""
    while not (follower.report.ready and _answers(desk, follower.engine, profile)):
        more = read_on(desk, follower, until)
        if follower.report.progress and follower.report.progress != told:
            told = follower.report.progress
            desk.tell(told)
        must_live(desk, follower, profile)
        if desk.now() >= until:
            raise StepFailed(
                f"{profile.name} is not ready after {_spoken(profile.ready_deadline_s)};"
                f" it got as far as: {told or 'nothing in its log'}",
                host=follower.node,
                hint=f"see {follower.started.log} on {follower.node}",
            )
        if not more:
            desk.wait(_POLL_S)


def _answers(desk: Desk, of: Engine, profile: Profile) -> bool:
    """Whether the first readiness path that this release has says 200. One it lacks may want the API key all the same."""
    service = asking(desk, profile)
    for path in of.ready_paths:
        try:
            with service.open("GET", path, None, headers=service.headers, deadline_s=25.0) as answer:
                status = answer.status
        except (OSError, Unreachable):
            return False
        if status != 404:
            return status == 200
    return False


def _prove(desk: Desk, follower: Follower, profile: Profile) -> None:
    service = asking(desk, profile)
    for number in range(1, _PROOFS + 1):
        desk.tell(f"generation {number} of {_PROOFS}")
        try:
            generate(service, follower.engine, 16, deadline_s=_REQUEST_S)
        except NoGeneration as error:
            raise why_idle(desk, follower, profile, str(error)) from error


def _load(desk: Desk, options: Options) -> Load:
    """What to measure with: what the last launch was measured with, where before and after shall be compared."""
    last = desk.previous_launch() if options.switch("as-last") else None
    return (last and last.capacity.load) or (STANDARD if options.switch("fully") else SHORT)


def _measure(desk: Desk, follower: Follower, profile: Profile, load: Load) -> Measurement | None:
    """The rates under this load, None where they cannot be measured; a service that dies meanwhile is noticed."""
    service = asking(desk, profile)
    try:
        measuring = Measuring(service, service.model(), load, request_s=_REQUEST_S, within_s=_MEASURE_S)
    except (OSError, BadStatus, ValueError) as error:
        desk.tell(f"not measured: {error}")
        return None
    found = _run_beside(desk, follower, profile, measuring)
    for one in found.errors:
        desk.tell(f"{one.count} requests failed, {one.kind.value}: {one.message}")
    if not found.whole and any(one.kind in _DEADLY for one in found.errors):
        raise why_idle(desk, follower, profile, found.errors[0].message)
    return found


def _run_beside(desk: Desk, follower: Follower, profile: Profile, measuring: Measuring) -> Measurement:
    """The load, while the log and the process are looked after."""
    until, of = desk.now() + _MEASURE_S, measuring.load
    running = Beside(measuring.run, "measuring")
    try:
        while not running.has_ended:
            so_far = measuring.tally()
            done = so_far.answered + so_far.failed
            desk.tell(f"measuring, {of.concurrency} streams: {done} of {of.requests} requests")
            desk.wait(_POLL_S)
            read_on(desk, follower, until)
            must_live(desk, follower, profile)
    finally:
        measuring.stop("the step has ended")
    return running.result()


def _watch(desk: Desk, follower: Follower, profile: Profile, options: Options) -> None:
    """Services have died just after saying ready: alive, no failure in the log, and generating, to the very end."""
    service, hang_s = asking(desk, profile), options.seconds("hang")
    pulse = Pulse(
        lambda: generate(service, follower.engine, 1, deadline_s=hang_s),
        every_s=options.seconds("pulse"),
        hang_s=hang_s,
        now=desk.now,
    )
    until = desk.now() + profile.watch_s
    last = None
    while last is None or not pulse.has_answered(last):
        left = until - desk.now()
        if left <= 0 and last is None:
            last = pulse.begin()
        pulse.beat()
        desk.tell(f"ready; watching for {left:.0f} s more" if left > 0 else "ready; one more generation")
        desk.wait(min(_WATCH_POLL_S, left) if left > 0 else _POLL_S)
        read_on(desk, follower, until + hang_s)
        must_live(desk, follower, profile)
        if why := pulse.verdict():
            raise why_idle(desk, follower, profile, why)


def _spoken(seconds: float) -> str:
    return show_duration(seconds) if seconds >= 60 else f"{seconds:.1f} s"


STEP = Step(
    name="await-ready",
    summary="wait for the engine's own word, then for real generations; measure, and watch for a while",
    plan=plan,
    run=run,
    relaunches=True,
    needs=("start-service",),
    options={
        "fully": OptionSpec(
            kind="switch",
            default=False,
            meaning="measure with the load of `fleetops measure`, not with a short one",
        ),
        "as-last": OptionSpec(
            kind="switch",
            default=False,
            meaning="measure with the load of the node's last launch, where it was recorded",
        ),
        "pulse": OptionSpec(
            kind="duration", default=10, meaning="how often a token is asked for during the watch"
        ),
        "hang": OptionSpec(
            kind="duration", default=60, meaning="how long no such token has to come until the service hangs"
        ),
    },
)
