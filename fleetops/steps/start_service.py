"""Start the service, detached from SSH: a lost connection neither kills it nor starts a second one.

Where systemd runs it becomes a transient unit, which may take what is available less the floor; else a session of its own.
Where a unit of the operator's starts this very service, it is started by that unit.
"""

from fleetops.engines.support.supervisors import unit_title
from fleetops.model.command import Command, shell
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fleet import Profile
from fleetops.model.machine import MEMORY
from fleetops.model.plan import Action, PlannedStep
from fleetops.model.secrets import mask_argv
from fleetops.model.units import show_gb
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.contending import keeper
from fleetops.steps.support.contending import refusal as contender_refusal
from fleetops.steps.support.launching import (
    Started,
    engine_of,
    launch_values,
    log_path,
    profile_of,
    record_path,
)
from fleetops.steps.support.memory_guard.watching import end_guard, guardian
from fleetops.steps.support.start_script import START
from fleetops.steps.support.starting import memory_max_bytes, runs_systemd, start_claim, unit_name
from fleetops.steps.support.unit_start import hold, let_go, start_unit


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The exact command line, with the size that fits as things stand."""
    profile = profile_of(situation)
    action = _action(situation, profile)
    return PlannedStep(
        step="start-service",
        title=f"start {profile.name}",
        host=situation.node_name,
        detail=f"{' '.join(mask_argv(_argv(situation, profile)))}  ({_place(situation)})",
        actions=(action,),
    )


def run(desk: Desk, _options: Options) -> str:
    """Start it. What became of a start whose answer was lost is seen by its record on the node.

    Raises Refused (guard `memory-guard`) where none was armed before.
    """
    situation = desk.situation
    profile = profile_of(situation)
    if guardian(desk) is None:
        raise Refused(
            f"no memory guard is armed on {situation.node_name}, so {profile.name} is not started",
            guard="memory-guard",
            host=situation.node_name,
            hint="put the step start-guard before start-service in the playbook",
        )
    if beside := contender_refusal(situation, profile):
        raise beside
    started_at = desk.now()
    if by := keeper(situation, profile):
        hold(desk, by)
    outcome = desk.change(_action(situation, profile))
    words = outcome.stdout.split()
    if outcome.ok and len(words) in {2, 3} and all(word.isdigit() for word in words[:2]):
        pid, ticks, unit = int(words[0]), int(words[1]), "".join(words[2:])
    elif outcome.status is None:
        pid, ticks, unit = _look_it_up(desk)
    else:
        end_guard(desk)
        let_go(desk)
        raise StepFailed(f"{profile.name} could not be started: {outcome.said}", host=situation.node_name)
    log = log_path(situation)
    memory = situation.observation.node_facts.value(MEMORY)
    desk.memo["started"] = Started(
        pid=pid,
        start_ticks=ticks,
        log=log,
        at=started_at,
        unit=unit,
        available_bytes=memory.available_bytes if memory else None,
    )
    return f"pid {pid}, {f'unit {unit}' if unit else 'in a session of its own'}, log {log}"


def _look_it_up(desk: Desk) -> tuple[int, int, str]:
    records = desk.look().observation.node_facts.value(SERVICE_RECORDS) or ()
    for record in records:
        if record.run_id == desk.situation.run_id:
            return record.pid, record.start_ticks, record.unit
    raise StepFailed(
        "the connection was lost while the service was being started, and no record of it is on the node",
        host=desk.situation.node_name,
        hint=f"fleetops probe {desk.situation.node_name}",
    )


def _place(situation: Situation) -> str:
    """Where it will run, and what it may take there."""
    if by := keeper(situation, profile_of(situation)):
        return f"by {unit_title(by)}"
    if not runs_systemd(situation):
        return "in a session of its own: systemd does not run there"
    most = memory_max_bytes(situation)
    return f"unit {unit_name(situation)}, {f'MemoryMax {show_gb(most)}' if most else 'no MemoryMax: what is available is not known'}"


def _action(situation: Situation, profile: Profile) -> Action:
    return Action(host=situation.node_name, command=_command(situation, profile), why=f"start {profile.name}")


def _command(situation: Situation, profile: Profile) -> Command:
    if by := keeper(situation, profile):
        return start_unit(situation, profile, by)
    environment = "".join(f"{name}={value}\n" for name, value in profile.environment.items())
    most = memory_max_bytes(situation)
    head = (
        start_claim(situation),
        log_path(situation),
        record_path(profile),
        profile.name,
        situation.run_id,
        str(profile.port),
        unit_name(situation),
        str(most) if most else "",
        profile.engine,
    )
    argv = _argv(situation, profile)
    return shell(
        START,
        *head,
        *argv,
        name="fleetops-start",
        stdin=environment,
        changes=True,
        root=True,
        deadline_s=30.0,
    )


def _argv(situation: Situation, profile: Profile) -> tuple[str, ...]:
    return engine_of(situation).argv(profile, launch_values(situation))


STEP = Step(
    name="start-service",
    summary="start the service as a unit or in a session of its own, its log in a new file, its pid and start time on record",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    relaunches=True,
    needs=("prove", "size", "preflight", "start-guard"),
)
