"""What stands in a plan's way, and in a change's while the node is down: the guards of what is needed, and no others."""

from dataclasses import replace

import pytest
from machines import bare, own_gpus, vm
from node_scenes import NODE, gpus, hypervisor_readings, observe
from unfenced import unfenced

from fleetops.checks import judge
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import Refused
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, DeviceClaim, GuestEntry, GuestState
from fleetops.model.plan import Action
from fleetops.model.units import GIB
from fleetops.playbook.desk import RunDesk, Tools
from fleetops.playbook.journal import Journal
from fleetops.playbook.load import shipped_playbook, without_relaunch
from fleetops.playbook.plan import make_plan
from fleetops.playbook.runner import Runner
from fleetops.steps.power_cycle import WHILE_DOWN
from fleetops.steps.support.base import Situation
from fleetops.store.database import Store

BOOK = without_relaunch(shipped_playbook("recover"))
GUEST_174 = GuestState(
    kind="lxc", id=174, status="running", config={"hostname": "node-174"}, init_pid=9, machine_id="5e0c"
)
RESET = Action(host="pve-01", command=Command(argv=("nvidia-smi",), changes=True, root=True), why="reset")


def container(*, held: bool = False, ha_state: str = "", claims=()):
    entry = GuestEntry(kind="lxc", id=174, name="node-174", status="running", ha_state=ha_state)
    neighbour = GuestEntry(kind="lxc", id=175, name="node-175", status="running")
    own = DeviceClaim(guest_id=174, kind="lxc", minors=tuple(range(8)))
    seen = gpus(8, memory_used_bytes=90 * GIB if held else 0)
    beside = {
        **hypervisor_readings(), GUEST: GUEST_174, GUESTS: (entry, neighbour), CLAIMS: (own, *claims), GPUS: seen,
    }  # fmt: skip
    return observe(facts={GPUS: seen}, on_hypervisor=beside)


def situation(observation):
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),  # type: ignore[arg-type]
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run-1",
    )


def blocked(observation):
    return {step.step: step.blocked for step in make_plan(BOOK, situation(observation)).steps if step.blocked}


def test_a_rung_that_is_not_needed_is_nobodys_obstacle():
    assert blocked(container(ha_state="started")) == {}
    assert blocked(bare()) == {}


def test_one_that_is_needed_and_would_be_refused_says_so_before_anything_is_done():
    found = blocked(container(held=True, ha_state="started"))
    assert set(found) == {"reset-gpus", "power-cycle"}
    assert make_plan(BOOK, situation(container(held=True, ha_state="started"))).first_obstacle is not None
    held = bare(facts={GPUS: own_gpus(memory_used_bytes=90 * GIB)})
    assert blocked(held) == {}
    assert make_plan(BOOK, situation(held)).first_obstacle is None


def test_the_plan_has_the_guards_advice():
    obstacle = make_plan(BOOK, situation(container(held=True, ha_state="started"))).first_obstacle
    assert "ha-manager set ct:174 --state ignored" in obstacle.mend


def test_of_another_machine_no_step_is_planned():
    seen = replace(container(held=True), node=replace(NODE, machine_id="0bad"))
    plan = make_plan(BOOK, situation(seen))
    assert {step.guard for step in plan.steps} == {"identity"}
    assert all(step.blocked and not step.actions for step in plan.steps)
    assert "recorded is 0bad" in plan.first_obstacle.blocked
    assert "fleetops run node-174 -- hostname" in plan.first_obstacle.mend


class Host:
    def __init__(self):
        self.host = "pve-01"
        self.ran = []

    def run(self, command, on_output=None):
        argv = unfenced(command)
        self.ran.append(argv[3] if argv[0] == "sh" else argv[0])
        return Outcome(status=0)


@pytest.fixture
def desk(tmp_path):
    host = Host()

    def make(observation):
        tools = Tools(
            inventory=Inventory(path=".", nodes={"node-174": NODE}),  # type: ignore[arg-type]
            observe=lambda: observation,
            prove=lambda one: one,
            session={"pve-01": host}.__getitem__,
            store=Store(tmp_path),
            sink=lambda _event: None,
        )
        made = RunDesk(tools, Journal(tmp_path, "run-1"), situation(observation))
        made.locks.append(("pve-01", "hypervisor.lock"))
        return made, host

    return make


def down(**fields):
    """The container stopped: its identity cannot be asked, and is no guard of what is done meanwhile."""
    seen = container(**fields)
    facts = replace(
        seen.hypervisor_facts,
        readings={
            **seen.hypervisor_facts.readings,
            GUEST.name: replace(GUEST_174, status="stopped", init_pid=None, machine_id=""),
        },
    )
    return replace(seen, hypervisor_facts=facts)


def test_while_the_node_is_down_its_own_lock_is_asked_for_with_the_other_guards(desk):
    made, host = desk(down())
    made.guards = ("identity",)
    assert made.change_while_down(RESET, WHILE_DOWN).ok
    assert host.ran == ["nvidia-smi"]  # the hypervisor's lock in the same command
    made.locks.append(("node-174", "node.lock"))
    made.tools.session = {"pve-01": host, "node-174": host}.__getitem__
    assert made.change_while_down(RESET, WHILE_DOWN).ok
    assert host.ran[1:] == ["fleetops-lock-held", "nvidia-smi"]


def test_a_neighbour_that_came_meanwhile_refuses(desk):
    made, host = desk(down(claims=(DeviceClaim(guest_id=175, kind="lxc", minors=(3,)),)))
    with pytest.raises(Refused, match="guest 175 is running and has GPU 3") as refused:
        made.change_while_down(RESET, WHILE_DOWN)
    assert (refused.value.guard, host.ran) == ("tenants", [])


def test_the_locks_outlast_a_start_that_may_legally_take_half_an_hour(desk):
    made, _ = desk(vm())
    plain = Runner(replace(BOOK, entries=BOOK.entries[:-2]), made)._lease_s()
    cycled = Runner(replace(BOOK, entries=BOOK.entries[:-1]), made)._lease_s()
    assert (
        cycled - plain == 120 + 321 + 120 + 780
    )  # qm stop, qm start of 64 GiB with passthrough, the playbook's own, and the step's: down, settle, back
