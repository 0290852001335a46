"""A silent node: what is a reason to plan for it, and what is said, with what to type, where nothing is."""

from dataclasses import replace

import pytest
from node_scenes import NODE, missing, observe

from fleetops.fleet import silent
from fleetops.fleet.silent import must_be_recoverable
from fleetops.model.errors import Unreachable
from fleetops.model.exit import Exit
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.guest import GUEST, GuestProcess, GuestState
from fleetops.model.machine import SSH_ANSWER, PortAnswer
from fleetops.playbook.book import Entry, Playbook
from fleetops.steps import all_steps
from fleetops.steps.support.base import Step

KNOWN = replace(NODE, machine_id="5e0c")
RUNNING = GuestState(kind="lxc", id=174, status="running", config={"hostname": "node-174"}, machine_id="5e0c")
RECOVER = Playbook(name="recover", summary="", entries=(Entry(step="power-cycle"),))
KILL = Playbook(name="kill", summary="", entries=(Entry(step="stop-service"),))


def node(reason, guest=RUNNING, *, known=KNOWN, answer=None, hint=""):
    """The observation of a node that is silent in this way."""
    gap = Missing(Gap.UNREACHABLE, "node-174: nothing", hint, reason)
    beside = {GUEST: guest} | ({SSH_ANSWER: answer} if answer else {})
    seen = observe(node=known, on_hypervisor=beside)
    return replace(seen, node_facts=Facts("node-174", 0.0, {"identity": gap, "memory": gap}), services=())


@pytest.fixture(autouse=True)
def power_cycle(monkeypatch):
    step = Step(name="power-cycle", summary="", plan=lambda *_: None, run=lambda *_: "", powers=True)
    monkeypatch.setattr(silent, "all_steps", lambda: {**all_steps(), "power-cycle": step})


@pytest.mark.parametrize(
    "observation",
    [
        node("no-banner"),
        node("no-banner", answer=PortAnswer.REFUSED),
        node("timeout", answer=PortAnswer.NO_ANSWER),
        node("timeout", answer=PortAnswer.SILENT),
    ],
)
def test_a_running_guest_that_hangs_and_is_the_node_may_be_planned_for(observation):
    must_be_recoverable(observation, RECOVER)


@pytest.mark.parametrize(
    ("observation", "told", "hint"),
    [
        (node("refused"), "does not show that it hangs", "fleetops probe node-174"),
        (node("auth", hint="check `user`"), "does not show that it hangs", "check `user`"),
        (node("host-key", hint="fleetops trust node-174"), "nothing", "fleetops trust node-174"),
        (node("no-route"), "does not show that it hangs", "fleetops probe node-174"),
        (node(""), "does not show that it hangs", "fleetops probe node-174"),
        (node("timeout"), "pve-01 could not tell", "fleetops probe node-174"),
        (node("timeout", answer=PortAnswer.CLOSED), "pve-01 could not tell", "fleetops probe node-174"),
        (node("no-banner", answer=PortAnswer.BANNER), "it says its SSH banner to pve-01", "probe node-174"),
        (node("no-banner", replace(RUNNING, status="stopped")), "guest 174 is stopped", "run pve-01 -- pct start 174"),
        (node("no-banner", replace(RUNNING, status="paused")), "guest 174 is paused", "pct status 174"),
        (node("no-banner", missing()), "does not tell how the guest is", "fleetops probe node-174"),
        (node("no-banner", replace(RUNNING, machine_id="f00d")), "its machine-id is f00d", "fleetops probe node-174"),
        (node("no-banner", replace(RUNNING, machine_id="")), "could not be read", "fleetops probe node-174"),
        (node("no-banner", known=NODE), "no machine-id was ever recorded", "`machine-id: 5e0c` for it into the inventory"),
    ],
)  # fmt: skip
def test_anything_else_is_said_and_not_acted_on(observation, told, hint):
    with pytest.raises(Unreachable) as caught:
        must_be_recoverable(observation, RECOVER)
    assert caught.value.exit_code is Exit.UNKNOWN
    assert caught.value.message.startswith("node-174 could not be looked at: node-174: nothing; ")
    assert told in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("state", "told"),
    [("D", "in D state, which no signal ends, and may hold its GPUs: do not start it; a person reboots pve-01"), ("S", "a person ends it on pve-01")],
)  # fmt: skip
def test_a_guest_that_outlived_its_stop_is_not_to_be_started(state, told):
    left = (GuestProcess(pid=4, state=state, comm="kvm"),)
    stopped = replace(RUNNING, status="stopped", left=left)
    with pytest.raises(Unreachable) as caught:
        must_be_recoverable(node("refused", stopped), RECOVER)
    assert "calls guest 174 stopped, and kvm of it (pid 4) is alive" in caught.value.message
    assert told in caught.value.message
    assert "start" not in caught.value.hint
    assert caught.value.hint.endswith("-p 4")


def test_bare_metal_needs_a_person():
    bare = replace(node("no-banner"), node=replace(KNOWN, hypervisor="", guest=None), hypervisor_facts=None)
    with pytest.raises(Unreachable, match="no hypervisor to go through") as caught:
        must_be_recoverable(bare, RECOVER)
    assert "console" in caught.value.hint


def test_a_playbook_that_works_through_ssh_alone_points_to_recover():
    with pytest.raises(Unreachable, match="kill acts on the node itself") as caught:
        must_be_recoverable(node("no-banner"), KILL)
    assert caught.value.hint == "fleetops recover node-174 --dry-run"
    with pytest.raises(Unreachable) as caught:
        must_be_recoverable(node("refused"), KILL)
    assert "fleetops probe node-174" in caught.value.hint
