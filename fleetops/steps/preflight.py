"""Before a start: nobody else starts it, the port free, no leftovers, the GPUs clean, the model's files and some room there."""

from fleetops.engines.attribution import attribute
from fleetops.model.command import Outcome, shell
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Profile
from fleetops.model.gpu import GPUS
from fleetops.model.machine import HOLDERS, LISTENERS, PROCESSES, Listener
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
    """What would be looked at; what already stands against a start is only said for a node that is clean."""
    profile = profile_of(situation)
    beside = contender_refusal(situation, profile)
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
    against = [*_from_facts(situation.observation, profile), *_from_disk(outcome, options)]
    if against:
        raise Refused(
            f"{situation.node_name} is not ready for a start: {'; '.join(against)}",
            guard="preflight",
            host=situation.node_name,
            hint=f"fleetops probe {situation.node_name}",
        )
    return f"port {profile.port} free, GPUs clean, {profile.model} there"


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
    elif here := [listener for listener in facts.value(LISTENERS) or () if listener.port == profile.port]:
        against.append(f"port {profile.port} is taken{_by(facts, here)}")
    if found.leftovers:
        against.append(f"{len(found.leftovers)} shared-memory segments of dead owners are left")
    daemons = {process.pid for process in found.daemons}
    if holders := [holder for holder in facts.value(HOLDERS) or () if holder.pid not in daemons]:
        against.append(f"process {holders[0].pid} holds {holders[0].path}")
    return [*against, *_gpus(observation)]


def _by(facts: Facts, listeners: list[Listener]) -> str:
    """Who listens there; "" where no process that is visible here does."""
    owners = {pid for listener in listeners for pid in listener.owners}
    found = [process for process in facts.value(PROCESSES) or () if process.pid in owners]
    return f" by process {found[0].pid} ({found[0].title})" if found else ""


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
