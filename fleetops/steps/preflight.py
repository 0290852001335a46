"""Before a start: nobody else starts it, the port free, no leftovers, the GPUs clean, the model's files and some room there."""

from fleetops.engines.attribution import attribute
from fleetops.model.command import Outcome, shell
from fleetops.model.engine import SERVICE_RECORDS, Service
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Profile
from fleetops.model.gpu import GPUS
from fleetops.model.machine import HOLDERS, LISTENERS, PROCESSES, Listener, Process
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.units import show_gib
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.contending import refusal as contender_refusal
from fleetops.steps.support.launching import LOG_FOLDER, profile_of
from fleetops.steps.support.reclaim import gpus_are_free

_SHM = "/dev/shm"  # noqa: S108 - looked at, not written to

# $1 the model ("" where it is no path), $2 the log folder. Lines `model present|absent`, `shm FREE_KB`, `log FREE_KB`.
_LOOK = r"""
[ -z "$1" ] || { [ -e "$1" ] && echo 'model present' || echo 'model absent'; }
free_kb() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }
echo "shm $(free_kb /dev/shm)"
folder=$2; while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
echo "log $(free_kb "$folder")"
"""


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """What would be looked at. What stands against a start whatever comes before it is said already, the rest is not."""
    profile = profile_of(situation)
    beside = contender_refusal(situation, profile) or _lasting(situation, profile)
    return PlannedStep(
        step="preflight",
        title="preflight",
        host=situation.node_name,
        detail=f"port {profile.port} free, no leftovers, GPUs clean, {profile.model} there",
        blocked=beside.message if beside else "",
        guard=beside.guard if beside else "",
        mend=beside.hint if beside else "",
        actions=(_look(situation.node_name, profile),),
    )


def run(desk: Desk, options: Options) -> str:
    """Everything that stands against a start is said at once. Raises Refused (guard `preflight`).

    First of all what would start a second service, or has to start this one (guard `supervisor`).
    """
    situation = desk.look()
    profile = profile_of(situation)
    if beside := contender_refusal(situation, profile):
        raise beside
    action = _look(situation.node_name, profile)
    outcome = desk.ask(action.host, action.command)
    others = [told for _, told in _beside(situation)]
    against = [*others, *_from_facts(situation.observation, profile), *_from_disk(outcome, options)]
    if against:
        raise _refused(situation, profile, against)
    return f"port {profile.port} free, GPUs clean, {profile.model} there"


def _lasting(situation: Situation, profile: Profile) -> Refused | None:
    """What no rung ends, known before anything is done: another port's service on the GPUs, a stranger on the port."""
    against = [told for _, told in _beside(situation)]
    if stranger := _stranger(situation.observation, profile):
        against.append(_taken(profile, stranger))
    return _refused(situation, profile, against) if against else None


def _refused(situation: Situation, profile: Profile, against: list[str]) -> Refused:
    node = situation.node_name
    why = f"{node} is not ready for a start: {'; '.join(against)}"
    return Refused(why, guard="preflight", host=node, hint=_mend(situation, profile))


def _mend(situation: Situation, profile: Profile) -> str:
    """What ends the service that is in the way, or shows whose process has the port."""
    node = situation.observation.node
    # `kill` is about the profile that the inventory names for the node.
    if node.profile and node.profile in (name for name, _ in _beside(situation)):
        return f"fleetops kill {node.name}"
    if stranger := _stranger(situation.observation, profile):
        return f"see whose it is: fleetops run {node.name} -- ps -fp {stranger.pid}"
    return f"fleetops probe {node.name}"


def _beside(situation: Situation) -> list[tuple[str, str]]:
    """The services of other ports that have the node's GPUs: the profile's name, where one is known, and the whole in words."""
    observation = situation.observation
    holding = {holder.pid for holder in observation.node_facts.value(HOLDERS) or ()}
    found = []
    for service in attribute(observation).others:
        if service.launcher and any(process.pid in holding for process in service.processes):
            name = _profile_of(situation, service)
            what = f"profile {name}" if name else f"another service ({service.engine})"
            found.append(
                (
                    name,
                    f"{what} serves there on port {service.port} (pid {service.launcher.pid}) and has the GPUs",
                )
            )
    return found


def _profile_of(situation: Situation, service: Service) -> str:
    """Of which profile it is: by the record of its launch, else the node's own on that port; "" for neither."""
    observation = situation.observation
    for record in observation.node_facts.value(SERVICE_RECORDS) or ():
        if service.launcher and record.pid == service.launcher.pid:
            return record.profile
    own = situation.inventory.profiles.get(observation.node.profile)
    return own.name if own and (own.port, own.engine) == (service.port, service.engine) else ""


def _stranger(observation: Observation, profile: Profile) -> Process | None:
    """Who listens on the port, where all that do are seen and none of them looks like any engine's."""
    here = _listening(observation.node_facts, profile)
    found, table = attribute(observation), observation.node_facts.value(PROCESSES) or ()
    engines = {process.pid for service in observation.services for process in service.processes}
    theirs = engines.union(process.pid for process in (*found.processes, *found.nominated))
    owners = {pid for listener in here for pid in listener.owners}
    if not all(listener.owners for listener in here) or owners & theirs:
        return None
    return next((process for process in table if process.pid in owners), None)


def _listening(facts: Facts, profile: Profile) -> list[Listener]:
    return [listener for listener in facts.value(LISTENERS) or () if listener.port == profile.port]


def _taken(profile: Profile, owner: Process | None) -> str:
    """By whom, as far as it is seen."""
    return f"port {profile.port} is taken" + (f" by process {owner.pid} ({owner.title})" if owner else "")


def _look(node: str, profile: Profile) -> Action:
    model = profile.model if profile.model.startswith("/") else ""
    return Action(
        host=node,
        command=shell(_LOOK, model, LOG_FOLDER, name="fleetops-look"),
        why="look for the model and for room",
    )


def _from_facts(observation: Observation, profile: Profile) -> list[str]:
    facts = observation.node_facts
    readings = {key.name: facts.readings.get(key.name) for key in (PROCESSES, LISTENERS, HOLDERS, GPUS)}
    against = [
        f"{name} could not be read ({reading})"
        for name, reading in readings.items()
        if reading is None or isinstance(reading, Missing)
    ]
    found = attribute(observation)
    if found.living:
        against.append(f"a service is there already ({found.living[0].pid}: {found.living[0].title})")
    elif here := _listening(facts, profile):
        against.append(_taken(profile, _owner(facts, here)))
    if found.leftovers:
        many = len(found.leftovers) > 1
        segments = f"{len(found.leftovers)} shared-memory segment{'s' if many else ''}"
        against.append(f"{segments} of dead owners {'are' if many else 'is'} left")
    # What another service holds is told with it.
    told = {process.pid for process in found.daemons}
    told.update(process.pid for service in found.others for process in service.processes)
    holders = facts.value(HOLDERS) or ()
    if strange := [holder for holder in holders if holder.pid not in told]:
        against.append(f"process {strange[0].pid} holds {strange[0].path}")
    return [*against, *_gpus(observation)]


def _owner(facts: Facts, listeners: list[Listener]) -> Process | None:
    """Who listens there; None where no process that is visible here does."""
    owners = {pid for listener in listeners for pid in listener.owners}
    return next((process for process in facts.value(PROCESSES) or () if process.pid in owners), None)


def _gpus(observation: Observation) -> list[str]:
    gpus, wanted = observation.node_facts.value(GPUS), observation.node.gpus
    if gpus is None:
        return []
    against = list(gpus.problems)
    if wanted is not None and len(gpus.gpus) != wanted:
        against.append(f"{len(gpus.gpus)} of {wanted} GPUs are there")
    if not gpus_are_free(gpus, observation.baseline):
        held = show_gib(sum(gpu.memory_used_bytes for gpu in gpus.gpus))
        against.append(f"the GPUs are not clean ({held} held)")
    asking = [
        f"{gpu.bdf} ({gpu.recovery_action})" for gpu in gpus.gpus if gpu.recovery_action not in {"", "None"}
    ]
    return [*against, *(f"the driver asks for an action on GPU {one}" for one in asking)]


def _from_disk(outcome: Outcome, options: Options) -> list[str]:
    if not outcome.ok:
        return [f"the model and the room could not be looked at ({outcome.said})"]
    seen = dict(line.partition(" ")[::2] for line in outcome.stdout.splitlines())
    against = ["the model is not there"] if seen.get("model") == "absent" else []
    for name, place in (("shm", _SHM), ("log", LOG_FOLDER)):
        least_kb = options.whole(f"least-{name}-mib") * 1024
        free = seen.get(name, "")
        if not free.isdigit():
            against.append(f"the room in {place} is not known")
        elif int(free) < least_kb:
            against.append(f"only {int(free) // 1024} MiB are free in {place}, {least_kb // 1024} are wanted")
    return against


STEP = Step(
    name="preflight",
    summary="before a start: no second starter, port, leftovers, GPUs, model files, room on disk and in /dev/shm",
    plan=plan,
    run=run,
    relaunches=True,
    options={
        "least-shm-mib": OptionSpec(kind="whole", default=64, meaning="MiB that must be free in /dev/shm"),
        "least-log-mib": OptionSpec(
            kind="whole", default=256, meaning="MiB that must be free where logs are kept"
        ),
    },
)
