"""Before the first signal: keep what a kill or a reset would destroy."""

from dataclasses import replace

from fleetops.engines.attribution import attribute
from fleetops.facts import gpus
from fleetops.model.command import Command, Outcome, shell
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Observation
from fleetops.model.plan import Action, PlannedStep
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.starting import guard_log_of
from fleetops.steps.support.supervising import log_of

# Why what is not there could not be had, a line each.
NOT_KEPT = "not-kept.txt"
_LIMIT = 4 * 2**20

# $1.. pids. Stacks and wait channels of every thread, where this kernel lets root read them.
_STACKS = r"""
for pid in "$@"; do
    for task in /proc/$pid/task/*; do
        [ -d "$task" ] || continue
        echo "== $task $(cat "$task/comm" 2>/dev/null) wchan $(cat "$task/wchan" 2>/dev/null)"
        cat "$task/stack" 2>/dev/null
    done
done
true
"""

# $1.. pids. The end of each log file that their standard output goes to, once each.
_LOGS = r"""
for pid in "$@"; do
    for fd in 1 2; do readlink "/proc/$pid/fd/$fd" 2>/dev/null; done
done | grep '^/' | grep -v '^/dev/' | sort -u | while IFS= read -r log; do
    echo "== $log"; tail -c 1000000 -- "$log"
done
true
"""


_THREADS = ("ps", "-eLo", "pid,ppid,pgid,sid,tid,stat,lstart,rss,comm,wchan:20,args", "-ww")
_GPUS = gpus.ask("-q", root=True, limit_bytes=_LIMIT)


def _reads(observation: Observation) -> list[tuple[str, Action]]:
    """What is kept: a file name in the run's folder, and where it comes from. A node that is silent gives nothing."""
    reads = [*([] if observation.silence else _of_node(observation)), *_of_hypervisor(observation)]
    return [(name, Action(host=where, command=command, why=f"keep {name}")) for name, where, command in reads]


def _of_node(observation: Observation) -> list[tuple[str, str, Command]]:
    node = observation.node.name
    pids = [str(process.pid) for process in attribute(observation).processes]
    records = observation.node_facts.value(SERVICE_RECORDS) or ()
    logs = [(f"launch-{number}.log", record.log) for number, record in enumerate(records, 1)]
    logs += [
        (f"memory-guard-{number}.log", guard_log_of(record.profile, record.run_id))
        for number, record in enumerate(records, 1)
    ]
    return [
        ("processes.txt", node, _read(*_THREADS)),
        ("kernel.log", node, _read("dmesg", "-T")),
        ("gpus.txt", node, _GPUS),
        ("stacks.txt", node, shell(_STACKS, *pids, name="fleetops-stacks", root=True, limit_bytes=_LIMIT)),
        ("engine.log", node, shell(_LOGS, *pids, name="fleetops-logs", root=True, limit_bytes=_LIMIT)),
        *((name, node, _read("tail", "-c", "1000000", "--", log)) for name, log in logs),
        *((name, node, command) for name, command in _of_supervisors(observation)),
    ]


def _of_supervisors(observation: Observation) -> list[tuple[str, Command]]:
    """What a unit's journal and a container's log hold; of a container started with --rm nothing else is left."""
    commands = (log_of(one) for one in attribute(observation).supervisors)
    kept = [replace(one, limit_bytes=_LIMIT) for one in commands if one]
    return [(f"supervisor-{number}.log", command) for number, command in enumerate(kept, 1)]


def _of_hypervisor(observation: Observation) -> list[tuple[str, str, Command]]:
    """Of a container its host sees the processes as well, of a VM its agent tells: all that there is of a silent one."""
    if observation.hypervisor is None:
        return []
    host, guest = observation.hypervisor.name, observation.node.guest
    reads = [(f"kernel-{host}.log", host, _read("dmesg", "-T"))]
    if guest and guest.kind == "lxc":
        reads.append((f"gpus-{host}.txt", host, _GPUS))
    if observation.silence:
        reads.append((f"processes-{host}.txt", host, _read(*_THREADS)))
        if guest and guest.kind == "vm":
            # Its kernel log ends with the power; a container's is its host's.
            told = ("qm", "guest", "exec", str(guest.id), "--timeout", "10", "--", "dmesg", "-T")
            reads.append(("kernel-guest.json", host, _read(*told)))
    return reads


def _read(*argv: str) -> Command:
    return Command(argv=argv, root=True, limit_bytes=_LIMIT, deadline_s=15)


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """Which pieces would be kept."""
    reads = _reads(situation.observation)
    return PlannedStep(
        step="keep-evidence",
        title="keep evidence",
        host=situation.observation.node.hypervisor if situation.observation.silence else situation.node_name,
        detail=_described(situation.observation),
        actions=tuple(action for _, action in reads),
    )


def run(desk: Desk, _options: Options) -> str:
    """Keep each piece; one that cannot be had is said, and does not hold up a recovery."""
    kept: list[str] = []
    missing: dict[str, str] = {}
    for name, action in _reads(desk.situation.observation):
        try:
            outcome = desk.ask(action.host, action.command)
            if outcome.stdout.strip():
                desk.keep(name, outcome.stdout)
                kept.append(name)
            else:
                missing[name] = _why_empty(outcome)
        except FleetopsError as error:
            missing[name] = error.message
    if missing:
        _note(desk, missing)
    return f"{len(kept)} kept" + (f"; not to be had: {', '.join(missing)}" if missing else "")


def _note(desk: Desk, missing: dict[str, str]) -> None:
    """For whoever investigates; a recovery does not wait for it."""
    try:
        desk.keep(NOT_KEPT, "".join(f"{name}: {' '.join(why.split())}\n" for name, why in missing.items()))
    except FleetopsError as error:
        desk.tell(error.message)


def _described(observation: Observation) -> str:
    if observation.silence:
        return f"what {observation.node.hypervisor} sees: kernel log, process table"
    return "engine log, kernel log, process table, stacks"


def _why_empty(outcome: Outcome) -> str:
    return "empty" if outcome.ok else outcome.said


STEP = Step(
    name="keep-evidence",
    summary="before the first signal: engine log, kernel logs, process table and stacks into the run's folder",
    plan=plan,
    run=run,
    without_node=True,
)
