"""One life of a machine, and the next: that the one which was stopped is over, and that the same machine began another."""

from dataclasses import dataclass

from fleetops.model.command import shell
from fleetops.model.errors import StepFailed
from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.guest import GUEST
from fleetops.model.machine import IDENTITY
from fleetops.steps.support.base import Desk
from fleetops.steps.support.scripts import START_OF

_POLL_S = 2.0

# $1 a pid. Its start time and state; nothing where there is none.
_LIFE = (
    START_OF
    + r"""
stat=$(cat "/proc/$1/stat" 2>/dev/null) || exit 0
rest=${stat##*) }
echo "$(start_of "$stat") ${rest%% *}"
"""
)


@dataclass(frozen=True)
class Life:
    """What tells one life of a machine from the next.

    Attributes:
        machine_id: whose life it is: as the node says, or as it was recorded.
        boot_id: the kernel's own, "" where it could not be read; of a container it is its host's, and tells nothing.
        first_pid, first_ticks: the guest's first process on its hypervisor, of a VM its emulator.
    """

    machine_id: str
    boot_id: str
    first_pid: int | None
    first_ticks: str


def life_of(desk: Desk, observation: Observation) -> Life:
    """The present life of the node, as it and its hypervisor tell."""
    told = observation.node_facts.value(IDENTITY)
    facts = observation.hypervisor_facts
    guest = facts.value(GUEST) if facts else None
    pid = guest.init_pid if guest else None
    return Life(
        machine_id=told.machine_id if told else observation.node.machine_id,
        boot_id=told.boot_id if told else "",
        first_pid=pid,
        first_ticks=_process(desk, observation.node.hypervisor, pid)[0],
    )


def outlived(desk: Desk, life: Life) -> str:
    """Why its first process is not over, by pid and start time: a number may be somebody else's by now. "" when it is."""
    host = desk.situation.observation.node.hypervisor
    ticks, state = _process(desk, host, life.first_pid)
    if not ticks or ticks != life.first_ticks:
        return ""
    stuck = " in D state, which no signal ends" if state == "D" else f" in state {state}"
    return f"its process {life.first_pid} on {host} is still there{stuck}"


def await_back(desk: Desk, before: Observation, life: Life, back_s: float) -> None:
    """Until the same machine answers with another life. Raises StepFailed at the deadline, and for another machine."""
    until = desk.now() + back_s
    while why := _not_back(desk.look().observation, life):
        if desk.now() >= until:
            node = before.node
            raise StepFailed(
                f"{node.name} is not back {back_s:g} s after its start: {why}{_as_proxmox_says(desk)}",
                host=node.name,
                hint=f"a person looks at its console on {node.hypervisor}; fleetops probe {node.name}",
            )
        desk.tell(f"waiting until it is back: {why}")
        desk.wait(_POLL_S)


def _not_back(now: Observation, life: Life) -> str:
    told = now.node_facts.get(IDENTITY)
    if isinstance(told, Missing):
        return f"it does not answer ({told.why or told})"
    if not told.machine_id or told.machine_id != life.machine_id:
        raise StepFailed(
            f"another machine answers as {now.node.name} after its start: its machine-id is"
            f" {told.machine_id or 'empty'}, it was {life.machine_id or 'not known'}; nothing is done to it",
            host=now.node.name,
            hint=f"a person sees who answers: fleetops run {now.node.name} -- hostname; and how the guest is:"
            f" fleetops probe {now.node.name}",
        )
    is_vm = now.node.guest is not None and now.node.guest.kind == "vm"
    if is_vm and not told.boot_id:
        return "its boot id cannot be read"
    if is_vm and told.boot_id == life.boot_id:
        return "it answers with the boot id of before: it was not started anew"
    return _same_first_process(now, life)


def _same_first_process(now: Observation, life: Life) -> str:
    facts = now.hypervisor_facts
    guest = facts.value(GUEST) if facts else None
    if guest is None or guest.init_pid is None:
        return f"its first process is not told by {now.node.hypervisor}"
    return "its first process is that of before" if guest.init_pid == life.first_pid else ""


def _as_proxmox_says(desk: Desk) -> str:
    facts = desk.situation.observation.hypervisor_facts
    guest = facts.value(GUEST) if facts else None
    return f"; {facts.host} says the guest is {guest.status}" if facts and guest else ""


def _process(desk: Desk, host: str, pid: int | None) -> tuple[str, str]:
    """Start time and state of a process on the hypervisor; empty where there is none."""
    if pid is None:
        return "", ""
    outcome = desk.ask(host, shell(_LIFE, str(pid), name="fleetops-life", root=True))
    if not outcome.ok:
        raise StepFailed(f"whether process {pid} is there could not be asked: {outcome.said}", host=host)
    ticks, _, state = outcome.stdout.strip().partition(" ")
    return ticks, state
