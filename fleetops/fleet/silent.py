"""A node that does not answer: what was seen of it, and whether a playbook may be planned for it all the same."""

from fleetops.checks.support.not_down import not_down, to_look
from fleetops.facts.guest import TOOLS
from fleetops.model.errors import Silence, Unreachable
from fleetops.model.fact import Missing
from fleetops.model.finding import Observation
from fleetops.model.guest import GUEST, GuestState
from fleetops.model.machine import SSH_ANSWER, PortAnswer
from fleetops.playbook.book import Playbook
from fleetops.playbook.guards import refusal
from fleetops.steps import all_steps


def must_be_recoverable(observation: Observation, book: Playbook) -> None:
    """Raises Unreachable, with what was seen and what to type, unless all of this holds.

    The playbook may switch the node's power; it is the node itself that hangs (`Observation.is_mute`), not the way to
    it; and its hypervisor shows that the guest is the node that is meant.
    """
    why, hint = _objection(observation, book)
    if why:
        node = observation.node.name
        gap = observation.silence
        said = f"{gap.why}; " if gap else ""
        raise Unreachable(
            f"{node} could not be looked at: {said}{why}",
            host=node,
            hint=(gap.hint if gap else "") or hint,
        )


def _objection(observation: Observation, book: Playbook) -> tuple[str, str]:
    """Why nothing can be planned, and what to type; "" where something can."""
    node = observation.node
    probe = f"nothing was changed; fleetops probe {node.name}"
    if not any(all_steps()[entry.step].powers for entry in book.entries):
        recover = f"fleetops recover {node.name} --dry-run" if observation.is_mute else probe
        return f"{book.name} acts on the node itself, through SSH", recover
    facts = observation.hypervisor_facts
    if facts is None or node.guest is None:
        return "it has no hypervisor to go through", "nothing was changed; a person looks at its console"
    state = facts.get(GUEST)
    if isinstance(state, Missing):
        return f"its hypervisor does not tell how the guest is ({state})", f"fleetops probe {node.name}"
    if state.status != "running":
        return _not_running(state, node.hypervisor)
    if not observation.is_mute:
        return _not_its_own(observation), probe
    if unproven := refusal("identity", observation):
        return unproven, _mend_identity(observation, state)
    return "", ""


def _not_running(state: GuestState, host: str) -> tuple[str, str]:
    """A guest that somebody stopped is not started by a recovery; one of which a process lives is not to be started at all."""
    if alive := not_down(state, host):
        return alive, to_look(state, host)
    tool = TOOLS[state.kind]
    verb = "start" if state.status == "stopped" else "status"
    return (
        f"{host} says that guest {state.id} is {state.status}",
        f"if it shall run: fleetops run {host} -- {tool} {verb} {state.id}",
    )


def _not_its_own(observation: Observation) -> str:
    """Which word of the silence speaks against the node being the one that hangs."""
    gap, host = observation.silence, observation.node.hypervisor
    answer = observation.hypervisor_facts.value(SSH_ANSWER) if observation.hypervisor_facts else None
    if answer is PortAnswer.BANNER:
        return f"it says its SSH banner to {host}: the way to it is at fault, or a login that hangs where sshd does not"
    if gap and gap.reason == Silence.TIMEOUT:
        return f"whether it is the node that hangs, or the way to it, {host} could not tell"
    return f"{host} says that the guest runs, and this silence does not show that it hangs"


def _mend_identity(observation: Observation, state: GuestState) -> str:
    node = observation.node
    if node.machine_id or not state.machine_id:
        return f"nothing was changed; fleetops probe {node.name}"
    return (
        f"nothing was changed; if guest {state.id} on {node.hypervisor} is {node.name}, write"
        f" `machine-id: {state.machine_id}` for it into the inventory"
    )
