"""Wait until the service really serves: its own log, its own endpoint, then generations; watched for a while after."""

import statistics
from concurrent.futures import ThreadPoolExecutor

from fleetops.engines import Engine, engine
from fleetops.engines.condition import Condition, condition
from fleetops.model.engine import LogReport, Service
from fleetops.model.errors import StepFailed, Unreachable
from fleetops.model.fleet import Profile
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.launching import Started, profile_of
from fleetops.steps.support.log_follow import Follower
from fleetops.steps.support.stopping import end_own_service

_POLL_S = 0.5
_WATCH_POLL_S = 2.0
_LOOK_EVERY_S = 5.0
_REQUEST_S = 60.0
_PROMPT = "Count upwards, in words, separated by commas: one, two,"
# A single answer can come from a service that is about to stall (facts/engines.md F 14): several are asked for.
_PROOFS = 3
_STREAMS = 8


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """Only reads and requests to the service itself."""
    profile = profile_of(situation)
    return PlannedStep(
        step="await-ready",
        title="wait until it serves",
        host=situation.node_name,
        detail=f"log, endpoint, {_PROOFS} generations; within {profile.ready_deadline_s:g} s, watched {profile.watch_s:g} s more",
    )


def run(desk: Desk, options: Options) -> str:
    """Ready, proven and still there after the watch; a service that does not get there is ended again."""
    profile = profile_of(desk.situation)
    started: Started = desk.memo["started"]
    follower = Follower(engine(profile.engine), started, desk.situation.node_name, LogReport())
    try:
        _until_ready(desk, follower, profile)
        ready_s = desk.now() - started.at
        _prove(desk, follower.engine, profile)
        desk.memo["ready_s"] = ready_s
        desk.memo["tokens_per_s"] = _measure(desk, follower.engine, profile, options.whole("tokens"))
        _watch(desk, follower, profile)
    except StepFailed as error:
        # Only what the service itself shows ends it again; a connection that is lost says nothing about it.
        became = end_own_service(desk, started)
        del desk.memo["started"]
        hint = f"{error.hint}; fleetops recover {error.host} clears what it left"
        raise StepFailed(f"{error.message}; {became}", host=error.host, hint=hint) from error
    desk.memo["log_report"] = follower.report
    return f"ready in {_spoken(ready_s)}, {_PROOFS} generations answered, watched {_spoken(profile.watch_s)}"


def _until_ready(desk: Desk, follower: Follower, profile: Profile) -> None:
    until = desk.now() + profile.ready_deadline_s
    told = ""
    while not (follower.report.ready and _answers(desk, follower.engine, profile)):
        more = _read_on(desk, follower, until)
        if follower.report.progress and follower.report.progress != told:
            told = follower.report.progress
            desk.tell(told)
        _must_live(desk, follower, profile)
        if desk.now() >= until:
            raise StepFailed(
                f"{profile.name} is not ready after {_spoken(profile.ready_deadline_s)};"
                f" it got as far as: {told or 'nothing in its log'}",
                host=follower.node,
                hint=f"see {follower.started.log} on {follower.node}",
            )
        if not more:
            desk.wait(_POLL_S)


def _read_on(desk: Desk, follower: Follower, until: float) -> bool:
    """Read on; a host that cannot be reached for a while is asked again until the deadline."""
    try:
        return follower.read_on(desk)
    except Unreachable as error:
        if desk.now() >= until:
            raise
        desk.tell(f"{error.message}; asking again")
        desk.wait(_WATCH_POLL_S)
        return False


def _must_live(desk: Desk, follower: Follower, profile: Profile) -> None:
    """Its process and its log at every poll; every few seconds its ranks as well, which may die unnoticed by both."""
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


def _answers(desk: Desk, of: Engine, profile: Profile) -> bool:
    """Whether the first readiness path that this release has says 200."""
    for path in of.ready_paths:
        try:
            answer = desk.request("GET", path, None, port=profile.port, deadline_s=25.0)
        except (OSError, Unreachable):
            return False
        if answer.status != 404:
            return answer.status == 200
    return False


def _prove(desk: Desk, of: Engine, profile: Profile) -> None:
    for number in range(1, _PROOFS + 1):
        desk.tell(f"generation {number} of {_PROOFS}")
        _generate(desk, of, profile, 16)


def _generate(desk: Desk, of: Engine, profile: Profile, tokens: int) -> int:
    """Tokens generated. Raises StepFailed for anything but a real answer within the deadline."""
    method, path, body = of.generate(_PROMPT, tokens)
    try:
        answer = desk.request(method, path, body, port=profile.port, deadline_s=_REQUEST_S)
        if answer.status == 200:
            got = of.parse_generation(answer.body).tokens
            if got > 0:
                return got
        why = f"status {answer.status}, {answer.body[:200].decode('utf-8', 'replace')}"
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
    raise StepFailed(
        f"{profile.name} says it is ready and does not generate: {why}", host=desk.situation.node_name
    )


def _measure(desk: Desk, of: Engine, profile: Profile, tokens: int) -> float:
    """Output tokens a second over concurrent generations, the median of three rounds."""
    desk.tell(f"measuring: {_STREAMS} streams of {tokens} tokens")
    rates = []
    with ThreadPoolExecutor(_STREAMS, thread_name_prefix="generate") as pool:
        for _ in range(3):
            begin = desk.now()
            total = sum(pool.map(lambda _: _generate(desk, of, profile, tokens), range(_STREAMS)))
            rates.append(total / max(desk.now() - begin, 1e-9))
    return statistics.median(rates)


def _watch(desk: Desk, follower: Follower, profile: Profile) -> None:
    """Services have died just after saying ready: alive, no failure in the log, and one more generation at the end."""
    until = desk.now() + profile.watch_s
    while (left := until - desk.now()) > 0:
        desk.tell(f"ready; watching for {left:.0f} s more")
        desk.wait(min(_WATCH_POLL_S, left))
        _read_on(desk, follower, until)
        _must_live(desk, follower, profile)
    _generate(desk, follower.engine, profile, 16)


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


STEP = Step(
    name="await-ready",
    summary="wait for the engine's own word, then for real generations; measure, and watch for a while",
    plan=plan,
    run=run,
    relaunches=True,
    options={
        "tokens": OptionSpec(kind="whole", default=64, meaning="tokens per stream when the rate is measured")
    },
)
