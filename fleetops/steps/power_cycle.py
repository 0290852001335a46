"""Rung 4: stop the guest through its hypervisor, prove that it is down, start it, and see the same machine come back.

Of a container the GPUs are reset on the host in between; a VM's are reset by Proxmox at every start. Nothing that a tool
says is proof: `qm stop` ends with success while kvm lives, `pct stop` may never end, and a start that could not reset a
device only warns (facts/recovery.md A3, A5).
"""

import re
from dataclasses import replace

from fleetops.model.command import Outcome
from fleetops.model.errors import FleetopsError, Refused, StepFailed
from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import DRIVER_UNRESPONSIVE, GPUS
from fleetops.model.plan import Action, PlannedStep
from fleetops.platforms import platform_of
from fleetops.platforms.base import Platform, Power
from fleetops.platforms.support.nvlink import reset_set
from fleetops.platforms.support.reset_call import units_of
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Skip, Step
from fleetops.steps.support.comeback import Life, await_back, life_of, outlived
from fleetops.steps.support.coming_up import stop_again
from fleetops.steps.support.detached import Detached, detached, follow, must_be_submitted
from fleetops.steps.support.interrupted import leave_starting, leave_stopping, to_type, typed
from fleetops.steps.support.power_claims import START, STOP, life_in, note_of
from fleetops.steps.support.resetting import described, is_as_before, judge_reset, wait_until_clean
from fleetops.steps.support.strangers import others_inside

# While the node is down its identity cannot be asked; the rest of rung 3's guards can.
WHILE_DOWN = ("protected", "proxmox-lock", "proxmox-task", "ha", "tenants", "display", "mig")

_LOCKED = re.compile(r"can't lock file .* - got timeout|(?:VM|CT) is locked \(.*\)")
_NOT_RESET = re.compile(r"failed to reset PCI device '[^']*'")
_POLL_S = 2.0


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """Stop, reset and start, with their commands."""
    observation = situation.observation
    planned = PlannedStep(
        step="power-cycle",
        title="stop and start the guest",
        host=observation.node.hypervisor or situation.node_name,
        condition="if what came before did not suffice",
    )
    try:
        platform = platform_of(observation.node)
        power = _power_of(platform, observation)
        between = _resets(platform, power, observation)
        stop, start = power.stop(observation), power.start(observation)
    except Skip as skip:
        return replace(planned, skip=str(skip))
    except Refused as error:
        return replace(planned, blocked=error.message, guard=error.guard, mend=error.hint)
    told = f", GPUs reset on {stop.host}" if between else ""
    if by := situation.stopped_by:
        return replace(
            planned,
            title="start the guest again",
            detail=f"stopped by run {by}; proven down{told}, {typed(start)} (may take {start.command.deadline_s:.0f} s)",
            actions=(*between, start),
        )
    return replace(
        planned,
        detail=f"{typed(stop)}, proven down{told}, {typed(start)} (may take {start.command.deadline_s:.0f} s)",
        blocked=others_inside(situation),
        guard="attribution",
        actions=(stop, *between, start),
    )


def run(desk: Desk, options: Options) -> str:
    """Down, reset, up, back. Once it is down it is started again whatever else fails or interrupts."""
    situation = desk.situation
    observation = situation.observation
    platform = platform_of(observation.node)
    power = _power_of(platform, observation)
    if stranger := others_inside(situation):
        raise Refused(stranger, guard="attribution", host=situation.node_name)
    life = life_in(situation.stopped_life) or life_of(desk, observation)
    guest = observation.node.guest
    by = situation.stopped_by or situation.run_id
    stop = detached(power.stop(observation), by, STOP, note_of(life, guest.id if guest else None))
    try:
        if situation.stopped_by:
            _await_down(desk, power, life, f"run {by} has stopped it", options.seconds("down"))
        else:
            _stop(desk, power, life, stop, options.seconds("down"))
    except KeyboardInterrupt:
        leave_stopping(desk, power, observation, life, stop)
        raise
    try:
        failure = _reset_failure(desk, platform, power, options.seconds("settle"))
        not_reset = _start(desk, power, observation)
        await_back(desk, observation, life, options.seconds("back"))
    except FleetopsError:
        raise
    except BaseException:
        # Where it was submitted before, this changes nothing.
        _submit_start(desk, power, observation)
        leave_starting(desk, power, observation)
        raise
    came = stop_again(desk)
    if failure:
        raise StepFailed(
            f"{failure.message}; {situation.node_name} is started again", host=failure.host, hint=failure.hint
        )
    if not_reset:
        raise StepFailed(
            f"{situation.node_name} is back, and its GPUs were not reset: {not_reset}",
            host=observation.node.hypervisor,
            hint=f"a person decides: fleetops run {observation.node.hypervisor} -- dmesg -T shows what the device said",
        )
    return (
        f"stopped, proven down, started, and back{f'; the service it started itself: {came}' if came else ''}"
    )


def _power_of(platform: Platform, observation: Observation) -> Power:
    """Raises Skip where this rung cannot help, and only a person can."""
    node, facts = observation.node, platform.driver_facts(observation)
    if platform.power is None:
        raise Skip(f"{node.name} is bare metal: its power is switched by a person")
    gap = facts.get(GPUS)
    hangs = isinstance(gap, Missing) and gap.reason == DRIVER_UNRESPONSIVE
    if hangs and not platform.power.resets_gpus:
        raise Skip(
            f"the GPU driver of {facts.host} hangs, and a restart of {node.name} does not reach it:"
            f" a person reboots {facts.host}"
        )
    return platform.power


def _resets(platform: Platform, power: Power, observation: Observation) -> tuple[Action, ...]:
    """Of a container all of its GPUs, on the host; nothing where the hypervisor does it at the start."""
    gpus = () if power.resets_gpus else platform.gpus(observation)
    if not gpus:
        return ()
    together = reset_set(gpus, gpus, platform.driver_facts(observation))
    return (platform.reset(observation, together),)


def _stop(desk: Desk, power: Power, life: Life, change: Detached, down_s: float) -> None:
    before = desk.situation.observation
    action = power.stop(before)
    desk.tell(f"looking once more before {typed(action)} on {action.host}")
    must_be_submitted(desk.change(change.action), action.host)
    desk.tell(f"{typed(action)} on {action.host}")
    outcome = follow(desk, change)
    desk.keep("stop.txt", outcome.stdout + outcome.stderr)
    if locked := _LOCKED.search(outcome.stdout + outcome.stderr):
        raise Refused(
            f"{typed(action)} on {action.host} was refused by Proxmox, nothing is changed: {locked[0]}",
            guard="proxmox-lock",
            host=action.host,
            hint=f"fleetops probe {before.node.name} shows the task that holds the lock; it is never broken",
        )
    if outcome.timed_out:
        desk.tell(f"{typed(action)} did not end in {change.limit_s:g} s and was ended")
    _await_down(desk, power, life, _how_it_ended(outcome, action, change.limit_s), down_s)


def _how_it_ended(outcome: Outcome, action: Action, limit_s: float) -> str:
    if outcome.timed_out:
        return f"{typed(action)} did not end in {limit_s:g} s"
    if outcome.ok:
        return f"{typed(action)} ended with success"
    if outcome.status is None:
        return f"what became of {typed(action)} is not known"
    return f"{typed(action)} ended with status {outcome.status}: {outcome.said}"


def _await_down(desk: Desk, power: Power, life: Life, ended: str, down_s: float) -> None:
    """By the facts alone: what Proxmox says of it, and the very process that was seen before."""
    until = desk.now() + down_s
    while why := power.is_down(desk.look().observation) or outlived(desk, life):
        if desk.now() >= until:
            node = desk.situation.observation.node
            raise StepFailed(
                f"{node.name} is not proven down {down_s:g} s later: {ended}, and {why}",
                host=node.hypervisor,
                hint=f"a person decides, and starts it only once it is down; fleetops probe {node.name} shows what is left of it",
            )
        desk.tell(f"waiting until it is down: {why}")
        desk.wait(_POLL_S)


def _reset_failure(desk: Desk, platform: Platform, power: Power, settle_s: float) -> FleetopsError | None:
    """Why the reset in between did not succeed; the guest is started all the same."""
    try:
        _reset_between(desk, platform, power, settle_s)
    except FleetopsError as error:
        return error
    return None


def _reset_between(desk: Desk, platform: Platform, power: Power, settle_s: float) -> None:
    """The facts are those of the container that is down: nobody of it holds a GPU any more."""
    now = desk.situation.observation
    gpus = () if power.resets_gpus else platform.gpus(now)
    for action in _resets(platform, power, now):
        desk.tell(f"resetting {described(gpus)} on {action.host}")
        judge_reset(desk.change_while_down(action, WHILE_DOWN), action.host)
        wait_until_clean(desk, platform, settle_s)
        is_as_before(desk.situation.observation, platform, gpus, units_of(action))


def _submit_start(desk: Desk, power: Power, before: Observation) -> None:
    """It puts back what the stop took away, so no guard holds it back; one that another run has stopped is guarded."""
    action = power.start(before)
    change = detached(action, desk.situation.run_id, START)
    submit = desk.change if desk.situation.stopped_by else desk.restore
    try:
        must_be_submitted(submit(change.action), action.host)
    except FleetopsError as error:
        why = f"{before.node.name} is stopped and could not be started: {error.message}"
        if isinstance(error, Refused):
            raise Refused(
                why, guard=error.guard, host=action.host, hint=error.hint or to_type(action)
            ) from error
        raise StepFailed(why, host=action.host, hint=to_type(action)) from error


def _start(desk: Desk, power: Power, before: Observation) -> str:
    """Start it, as long as that may take; the warnings that say a device was not reset."""
    action = power.start(before)
    desk.tell(f"{typed(action)} on {action.host}, may take {action.command.deadline_s:.0f} s")
    _submit_start(desk, power, before)
    outcome = follow(desk, detached(action, desk.situation.run_id, START))
    words = outcome.stdout + outcome.stderr
    desk.keep("start.txt", words)
    if outcome.ok:
        return ", ".join(dict.fromkeys(_NOT_RESET.findall(words)))
    now = desk.look().observation
    if now.hypervisor_facts is None or now.hypervisor_facts.silence:
        raise StepFailed(
            f"{before.node.name} is stopped, and what became of {typed(action)} is not known: {action.host} does not answer",
            host=action.host,
            hint=f"when {action.host} answers: fleetops recover {before.node.name}, which looks and goes on from there",
        )
    if power.is_down(now) == "":
        raise StepFailed(
            f"{before.node.name} is stopped and could not be started: "
            f"{_how_it_ended(outcome, action, action.command.deadline_s)}",
            host=action.host,
            hint=to_type(action),
        )
    return ", ".join(dict.fromkeys(_NOT_RESET.findall(words)))


def _longest_s(observation: Observation) -> float:
    """What its commands may take beside the options: the lock is held that long."""
    power = platform_of(observation.node).power
    if power is None:
        return 0.0
    return power.stop(observation).command.deadline_s + power.start_deadline_s(observation)


STEP = Step(
    name="power-cycle",
    summary="rung 4: stop the guest through its hypervisor, prove it down, reset its GPUs, start it, and see it back",
    plan=plan,
    run=run,
    powers=True,
    without_node=True,
    takes_s=_longest_s,
    options={
        "down": OptionSpec(
            kind="duration",
            default=120,
            meaning="how long after its stop the guest may take until it is proven down (a large VM unpins its memory)",
        ),
        "settle": OptionSpec(
            kind="duration", default=60, meaning="how long GPU memory may take to be free after a reset"
        ),
        "back": OptionSpec(
            kind="duration", default=600, meaning="how long the node may take to answer again after its start"
        ),
    },
)
