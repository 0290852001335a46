"""Rung 1: stop the service. TERM to its processes, a grace, KILL to what is left, zombie parents included.

What would start it again is stopped first, and the service through it. One that a launch has made a systemd unit of is
stopped through systemd, and its unit is not left behind as failed.
"""

from fleetops.engines.condition import is_wedged
from fleetops.model.errors import Refused
from fleetops.model.machine import Process
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.supervisor import Supervisor
from fleetops.steps.support.agreed import left_of
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Skip, Step
from fleetops.steps.support.contending import to_stop
from fleetops.steps.support.signals import signal_command
from fleetops.steps.support.strangers import strangers
from fleetops.steps.support.supervising import GUARD, asked, await_noticed, stop_actions, stop_all, titles
from fleetops.steps.support.supervising import refusal as supervisor_refusal
from fleetops.steps.support.units import clear_unit, outside, own_units, stop_unit, units_on_record

_POLL_S = 1.0


def plan(situation: Situation, options: Options) -> PlannedStep:
    """The processes as seen now; those seen when the step runs are what counts."""
    found, keeping = situation.attribution.living, to_stop(situation)
    node = situation.node_name
    grace = _grace_s(situation, options)
    stranger, kept = strangers(situation), supervisor_refusal(node, keeping)
    return PlannedStep(
        step="stop-service",
        title="stop the service",
        host=node,
        detail=_told(found, keeping, grace),
        skip="" if found or keeping else "no process of the service is left",
        blocked=stranger or (kept.message if kept else ""),
        guard=GUARD if kept and not stranger else "attribution",
        mend=kept.hint if kept and not stranger else "",
        actions=(
            *stop_actions(node, keeping, grace),
            *_asking(situation, found),
            *((_ending(node, found, f"end what is left after {grace:g} s"),) if found else ()),
            *_clearing(situation, found),
        ),
    )


def _told(found: tuple[Process, ...], keeping: tuple[Supervisor, ...], grace: float) -> str:
    through = [f"through {titles(keeping)}"] if keeping else []
    signals = [f"TERM, {grace:g} s, KILL to {_described(found)}"] if found else []
    return "; ".join([*through, *signals])


def run(desk: Desk, options: Options) -> str:
    """TERM, grace, KILL; whether all are gone is judged by the playbook's `until`, from facts read again."""
    situation = desk.situation
    node, found, keeping = situation.node_name, situation.attribution.living, to_stop(situation)
    if stranger := strangers(situation):
        raise Refused(stranger, guard="attribution", host=node)
    if kept := supervisor_refusal(node, keeping):
        raise kept
    clearing = _clearing(situation, found)
    if not found and not keeping:
        for action in clearing:
            desk.restore(action)
        raise Skip("no process of the service is left")
    grace = _grace_s(situation, options)
    stop_all(desk, keeping, grace)
    left: tuple[Process, ...] = ()
    if found:
        desk.tell(f"TERM to {_described(found)}")
        for action in _asking(situation, found):
            desk.change(action)
        left = _left_after(desk, found, grace)
    if left:
        desk.tell(f"KILL to {_described(left)}")
        desk.change(_ending(node, left, "end what is left"))
    if any(one.unit for one in keeping):
        await_noticed(desk, keeping)
    for action in clearing:
        desk.restore(action)
    ended = f"{len(found) - len(left)} ended{' when asked' if keeping else ' on TERM'}"
    killed = f", {len(left)} by KILL" if left else ""
    return f"{ended}{killed}{f'; stopped through {titles(keeping)}' if keeping else ''}"


def _asking(situation: Situation, found: tuple[Process, ...]) -> tuple[Action, ...]:
    """What no supervisor's stop reaches: units of launches through systemd, every other process by itself."""
    units, node = own_units(situation.observation, found), situation.node_name
    stops = [Action(host=node, command=stop_unit(unit), why="ask it to stop") for unit in units]
    reached = asked(situation.attribution.supervisors, found)
    if rest := outside((one for one in found if one not in reached), units):
        stops.append(Action(host=node, command=signal_command("TERM", rest), why="ask it to stop"))
    return tuple(stops)


def _ending(node: str, found: tuple[Process, ...], why: str) -> Action:
    return Action(host=node, command=signal_command("KILL", found), why=why)


def _clearing(situation: Situation, found: tuple[Process, ...]) -> tuple[Action, ...]:
    """Of a service that is gone already, the unit on record: a process that ended by a signal leaves it failed."""
    observation, profile = situation.observation, situation.profile
    units = own_units(observation, found)
    if not found and profile:
        units = units_on_record(observation, profile.name)
    return tuple(
        Action(host=situation.node_name, command=clear_unit(unit), why="leave no failed unit behind")
        for unit in units
    )


def _left_after(desk: Desk, found: tuple[Process, ...], grace_s: float) -> tuple[Process, ...]:
    """What is still there of `found` and its offspring when the grace is over, or as soon as nothing is seen to be."""
    until = desk.now() + grace_s
    while True:
        left = left_of(found, desk.look().attribution)
        if not left or desk.now() >= until:
            return left
        desk.wait(min(_POLL_S, max(0.0, until - desk.now())))


def _grace_s(situation: Situation, options: Options) -> float:
    """A service whose ranks are dead, or whose launcher is gone, has nothing left to finish gracefully."""
    targets = situation.attribution.services
    return options.seconds("broken-grace" if targets and all(map(is_wedged, targets)) else "grace")


def _described(processes: tuple[Process, ...]) -> str:
    ghosts = sum(1 for process in processes if process.is_ghost_leader)
    zombies = sum(1 for process in processes if process.is_zombie) - ghosts
    parts = [f"{len(processes)} process{'es' if len(processes) != 1 else ''}"]
    if zombies:
        parts.append(f"{zombies} defunct")
    if ghosts:
        parts.append(f"{ghosts} dead leader{'s' if ghosts != 1 else ''} with live threads")
    return ", ".join(parts)


STEP = Step(
    name="stop-service",
    summary="rung 1: TERM to the service's processes, a grace, KILL to what is left",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    ends_service=True,
    options={
        "grace": OptionSpec(
            kind="duration", default=20, meaning="how long a whole service may take to stop by itself"
        ),
        "broken-grace": OptionSpec(
            kind="duration", default=3, meaning="the same for one whose ranks or launcher are dead"
        ),
    },
)
