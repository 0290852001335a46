"""A person reboots the machine that the node runs on: say which and how, wait for it, and prove that it came back.

Hosts are never rebooted by fleetops. That one was is proven by its kernel's boot id alone: a boot id that cannot be read
proves nothing, neither does a host that was silent for a while.
"""

from collections.abc import Callable

from fleetops.facts.guest import TOOLS
from fleetops.model.duration import show_duration
from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS
from fleetops.model.guest import GUEST, GUESTS
from fleetops.model.machine import IDENTITY, MEMORY, Identity
from fleetops.model.plan import PlannedStep
from fleetops.model.units import show_gb
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step
from fleetops.steps.support.coming_up import stop_again

_POLL_S = 5.0
# What the kernel keeps for itself differs a little from boot to boot; a module that is gone does not.
_MEMORY_BACK = 0.98


def plan(situation: Situation, options: Options) -> PlannedStep:
    """Nothing is run: a person acts. Refused where the return could never be proven."""
    machine = _machine(situation.observation)
    against = _unprovable(situation.before)
    return PlannedStep(
        step="await-reboot",
        title=f"a person reboots {machine}",
        host=machine,
        detail=f"{_to_do(situation)}; within {show_duration(options.seconds('within'))}, proven by a new boot id of {machine};"
        f" {show_duration(options.seconds('back'))} more for {situation.node_name}, its GPUs and its memory",
        blocked=against.message if against else "",
        hopeless=against is not None,
        guard=against.guard if against else "",
        mend=against.hint if against else "",
    )


def run(desk: Desk, options: Options) -> str:
    """The machine with a new boot id, then the node as itself with all that it had. Raises StepFailed at each deadline."""
    before = desk.situation.before
    if against := _unprovable(before):
        raise against
    machine, began = _machine(before), desk.now()
    _until(
        desk,
        lambda now: _not_rebooted(before, now),
        options.seconds("within"),
        what=f"the reboot of {machine} is not proven",
        told=f"WAITING FOR A PERSON: {_to_do(desk.situation)}",
        mend=f"once {machine} is rebooted: fleetops recover {desk.situation.node_name} --dry-run",
    )
    desk.tell(f"{machine} has a new boot id")
    _until(
        desk,
        lambda now: _not_whole(before, now),
        options.seconds("back"),
        what=f"{desk.situation.node_name} is not whole after the reboot of {machine}",
        told=f"{machine} is back",
        mend=f"a person looks at its console; fleetops probe {desk.situation.node_name}",
    )
    after_s = desk.now() - began
    came = stop_again(desk)
    return (
        f"{machine} was rebooted, {desk.situation.node_name} answers as itself, whole, after {show_duration(after_s)}"
        f"{f'; the service it started itself: {came}' if came else ''}"
    )


def _until(
    desk: Desk,
    why_not: Callable[[Observation], str],
    within_s: float,
    *,
    what: str,
    told: str,
    mend: str,
) -> None:
    until = desk.now() + within_s
    while why := why_not(desk.look().observation):
        if desk.now() >= until:
            raise StepFailed(
                f"{what} {show_duration(within_s)} later: {why}", host=desk.situation.node_name, hint=mend
            )
        desk.tell(f"{told} ({why})")
        desk.wait(_POLL_S)


def _machine(observation: Observation) -> str:
    """Whose reboot takes everything of the node's down: its hypervisor's, of bare metal its own."""
    return observation.node.hypervisor or observation.node.name


def _facts(observation: Observation) -> Facts:
    return observation.hypervisor_facts or observation.node_facts


def _unprovable(before: Observation) -> Refused | None:
    """Without the boot id and the node's identity of before, nothing that comes back could be told from what was there."""
    machine, node = _machine(before), before.node.name
    for host, facts in ((machine, _facts(before)), (node, before.node_facts)):
        told = facts.get(IDENTITY)
        why = str(told) if isinstance(told, Missing) else "" if told.boot_id else "it tells none"
        if why:
            return Refused(
                f"the boot id of {host} cannot be read ({why}): its reboot could not be proven",
                guard="boot-id",
                host=host,
                hint=f"fleetops probe {node}",
            )
    told_node = before.node_facts.value(IDENTITY)
    if told_node is None or not told_node.machine_id:
        return Refused(
            f"{node} tells no machine-id: what comes back could not be told from another machine",
            guard="identity",
            host=node,
            hint=f"fleetops probe {node}",
        )
    return None


def _not_rebooted(before: Observation, now: Observation) -> str:
    """Why the machine is not shown to have been rebooted; "" where it is. Raises StepFailed for another machine."""
    machine, told = _machine(now), _facts(now).get(IDENTITY)
    if isinstance(told, Missing):
        return f"the boot id of {machine} cannot be read, which proves nothing: {told.why or told}"
    if not told.boot_id:
        return f"{machine} tells no boot id, which proves nothing"
    was = _facts(before).value(IDENTITY)
    _must_be_same(machine, was, told)
    if was is None or told.boot_id == was.boot_id:
        return f"{machine} answers with the boot id of before: it has not been rebooted"
    return ""


def _not_whole(before: Observation, now: Observation) -> str:
    """What the node still lacks of what it had; "" where nothing. Raises StepFailed for another machine."""
    if why := _not_rebooted(before, now):
        return why
    node, told, was = now.node.name, now.node_facts.get(IDENTITY), before.node_facts.value(IDENTITY)
    if isinstance(told, Missing):
        return f"{node} does not answer ({told.why or told})"
    _must_be_same(node, was, told)
    if was is None or not told.boot_id or told.boot_id == was.boot_id:
        return f"{node} answers with the boot id of before, or with none"
    return _lacks_memory(before, now) or _lacks_gpus(before, now)


def _must_be_same(host: str, was: Identity | None, told: Identity) -> None:
    """A machine-id that cannot be read is not the one of before."""
    expected = was.machine_id if was else ""
    if expected and told.machine_id != expected:
        raise StepFailed(
            f"another machine answers as {host} after the reboot: its machine-id is"
            f" {told.machine_id or 'empty'}, it was {expected}",
            host=host,
            hint="a person looks at what has that address now",
        )


def _lacks_memory(before: Observation, now: Observation) -> str:
    had, has = before.node_facts.value(MEMORY), now.node_facts.value(MEMORY)
    if has is None:
        return "its memory cannot be read"
    if had and has.total_bytes < had.total_bytes * _MEMORY_BACK:
        return f"it has {show_gb(has.total_bytes)} of memory, and had {show_gb(had.total_bytes)}"
    return ""


def _lacks_gpus(before: Observation, now: Observation) -> str:
    """What the inventory says counts; the driver may have lost some before, which is why the machine is rebooted."""
    had, has = before.node_facts.value(GPUS), now.node_facts.get(GPUS)
    wanted = now.node.gpus if now.node.gpus is not None else len(had.gpus) if had else None
    if isinstance(has, Missing):
        return "" if wanted in {0, None} and had is None else f"its GPUs do not answer ({has.why or has})"
    if has.problems:
        return has.problems[0]
    if wanted is not None and len(has.gpus) < wanted:
        return f"{len(has.gpus)} of {wanted} GPUs are there"
    return ""


def _to_do(situation: Situation) -> str:
    """Exactly what the person has to do, and what goes down with it."""
    observation = situation.observation
    machine, node = _machine(observation), observation.node
    facts = observation.hypervisor_facts
    running = [one for one in (facts.value(GUESTS) if facts else None) or () if one.status == "running"]
    own = next((one for one in running if node.guest and one.id == node.guest.id), None)
    others = [
        f"{one.id} ({one.name})" for one in running if one is not own and (not own or one.node == own.node)
    ]
    along = f"; guests {', '.join(others)} go down with it, they are yours to stop first" if others else ""
    return f"reboot {machine} (on {machine}: systemctl reboot){along}{_to_start(observation)}"


def _to_start(observation: Observation) -> str:
    """A guest that Proxmox does not start with its host is a person's to start; "" for one that it does."""
    facts = observation.hypervisor_facts
    guest = facts.value(GUEST) if facts else None
    if guest is None or guest.config.get("onboot") == "1":
        return ""
    return f"; then {TOOLS[guest.kind]} start {guest.id} on {observation.node.hypervisor}, which does not start it at boot"


STEP = Step(
    name="await-reboot",
    summary="tell a person which host to reboot, wait for it, and prove by boot id and identity that it came back whole",
    plan=plan,
    run=run,
    guards=("identity", "protected"),
    reboots=True,
    options={
        "within": OptionSpec(
            kind="duration",
            default=3600,
            meaning="how long the person may take until the host answers with a new boot id",
        ),
        "back": OptionSpec(
            kind="duration",
            default=600,
            meaning="how long the node, its GPUs and its memory may take after that",
        ),
    },
)
