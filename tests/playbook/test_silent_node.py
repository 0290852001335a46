"""A node that says nothing: only what goes through its hypervisor is planned and done, and everything after is read anew."""

from dataclasses import dataclass, field, replace

import pytest
from node_scenes import NODE, observe
from unfenced import unfenced

from fleetops import steps
from fleetops.checks import judge
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import StepFailed, Unreachable
from fleetops.model.event import StepEnded
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.fleet import Guest, Inventory
from fleetops.model.guest import GUEST, GuestState
from fleetops.model.plan import Action, PlannedStep
from fleetops.playbook import plan, runner
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.desk import RunDesk, Tools
from fleetops.playbook.journal import Journal
from fleetops.playbook.plan import NO_SIGNAL, make_plan
from fleetops.playbook.runner import Runner
from fleetops.steps.support.base import Situation, Step
from fleetops.steps.support.interrupted import LEFT_BEHIND, LeftBehind
from fleetops.store.database import Store

MUTE = Missing(Gap.UNREACHABLE, "node-174: it sent no SSH banner", reason="no-banner")
RUNNING = GuestState(
    kind="lxc", id=174, status="running", config={"hostname": "node-174"}, init_pid=9, machine_id="5e0c"
)
KNOWN = replace(NODE, machine_id="5e0c")
CYCLE = Command(argv=("pct", "stop", "174"), changes=True, root=True)
BOOK = Playbook(
    name="recover",
    summary="",
    entries=tuple(
        Entry(step=name) for name in ("keep-evidence", "stop-service", "power-cycle", "verify-reclaimed")
    ),
)


def silent(**more):
    seen = observe(node=KNOWN, on_hypervisor={GUEST: RUNNING}, **more)
    return replace(
        seen, node_facts=Facts("node-174", 0.0, dict.fromkeys(seen.node_facts.readings, MUTE)), services=()
    )


def back():
    return observe(node=KNOWN, profile=None, on_hypervisor={GUEST: RUNNING})


def situation(observation):
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": KNOWN}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run-1",
    )


@dataclass
class World:
    """The node and its hypervisor: the node's sessions fail and its facts are missing until it is power-cycled."""

    answers: bool = False
    fails: bool = False
    interrupts: str = ""
    looks: int = 0
    back_after: int = 1_000_000
    ran: list[tuple[str, str]] = field(default_factory=list)
    told: list[object] = field(default_factory=list)

    def session(self, name):
        if name == "node-174" and not self.answers:
            raise Unreachable("node-174: it sent no SSH banner")
        return _Session(self, name)

    def observe(self):
        self.looks += 1
        self.answers = self.answers or self.looks > self.back_after
        return back() if self.answers else silent()

    def cycle(self, desk, options):
        if self.interrupts == "before":
            raise KeyboardInterrupt
        desk.change(Action(host="pve-01", command=CYCLE, why="stop"))
        if self.interrupts == "after":
            self.answers, self.looks = False, 0
            desk.memo[LEFT_BEHIND] = LeftBehind("node-174 is started again", "fleetops probe node-174")
            raise KeyboardInterrupt
        if self.fails:
            raise StepFailed("it did not come back")
        return "cycled"

    def registry(self):
        cycle = Step(
            name="power-cycle",
            summary="",
            plan=lambda _situation, _options: PlannedStep(
                step="power-cycle",
                title="power-cycle",
                host="pve-01",
                condition="if what came before did not suffice",
                actions=(Action(host="pve-01", command=CYCLE, why="stop"),),
            ),
            run=self.cycle,
            guards=("identity", "protected"),
            powers=True,
        )
        return {**steps.all_steps(), "power-cycle": cycle}


@dataclass
class _Session:
    world: World
    host: str

    def run(self, command, on_output=None):
        argv = unfenced(command)
        self.world.ran.append((self.host, argv[3] if argv[0] == "sh" else argv[0]))
        self.world.answers = self.world.answers or argv[:2] == ("pct", "stop")
        return Outcome(status=0, stdout="x\n")


@pytest.fixture
def world(monkeypatch):
    made = World()
    for module in (plan, runner):
        monkeypatch.setattr(module, "all_steps", made.registry)
    # Of the platform's own guards other tests tell; a silent node's identity is what matters here.
    monkeypatch.setattr(
        plan, "platform_of", lambda _node: type("P", (), {"guards": (), "power_guards": ("identity",)})
    )
    return made


@pytest.fixture
def run(world, tmp_path):
    def go():
        tools = Tools(
            inventory=Inventory(path=".", nodes={"node-174": KNOWN}),
            observe=world.observe,
            prove=lambda one: one,
            session=world.session,
            store=Store(tmp_path),
            sink=world.told.append,
            sleep=lambda _s: None,
        )
        desk = RunDesk(tools, Journal(tmp_path, "run-1"), situation(silent()))
        return Runner(BOOK, desk).run()

    return go


def ended(world):
    return {event.step: event.status for event in world.told if isinstance(event, StepEnded)}


def test_the_plan_skips_what_needs_a_signal_and_leaves_the_rest_for_when_it_is_back(world):
    made = make_plan(BOOK, situation(silent()))
    evidence, stop, cycle, verify = made.steps
    assert evidence.actions
    assert {evidence.host, *(action.host for action in evidence.actions)} == {"pve-01"}
    assert stop.skip == NO_SIGNAL
    # Nothing that came before could have sufficed.
    assert (cycle.skip, cycle.blocked, cycle.condition) == ("", "", "")
    assert cycle.actions
    assert verify.condition.startswith("once the node is back")
    assert made.first_obstacle is None


def test_a_guest_that_is_another_machine_is_no_plan(world):
    other = silent()
    beside = replace(
        other.hypervisor_facts, readings={**other.hypervisor_facts.readings, "guest": replace(RUNNING, machine_id="f00d")}
    )  # fmt: skip
    made = make_plan(BOOK, situation(replace(other, hypervisor_facts=beside)))
    assert made.first_obstacle.guard == "identity"
    assert "its machine-id is f00d, recorded is 5e0c" in made.first_obstacle.blocked


def test_the_node_is_power_cycled_under_its_hypervisors_lock_and_its_own_once_it_is_back(world, run):
    result = run()
    assert (result.status, result.why) == ("done", "")
    assert ended(world) == {
        "keep-evidence": "done", "stop-service": "skipped", "power-cycle": "done", "verify-reclaimed": "done"
    }  # fmt: skip
    locks = [(host, name) for host, name in world.ran if name in {"fleetops-lock", "fleetops-unlock"}]
    assert locks == [
        ("pve-01", "fleetops-lock"),
        ("node-174", "fleetops-lock"),
        ("node-174", "fleetops-unlock"),
        ("pve-01", "fleetops-unlock"),
    ]
    assert world.ran.index(("pve-01", "pct")) < world.ran.index(("node-174", "fleetops-lock"))


def test_a_node_that_answers_again_before_the_power_cycle_keeps_its_power(world, run):
    """It is looked at again right before the change: that it was silent once is no reason any more."""
    world.back_after = 0
    result = run()
    assert (result.status, result.guard) == ("refused", "changed")
    assert ("pve-01", "pct") not in world.ran


def test_a_power_cycle_that_fails_ends_the_run_and_gives_the_lock_back(world, run):
    world.fails = True
    result = run()
    assert (result.status, result.why) == ("failed", "it did not come back")
    assert world.ran[-1] == ("pve-01", "fleetops-unlock")


def test_who_interrupts_before_the_first_change_is_told_that_nothing_was_changed(world, run):
    world.interrupts = "before"
    result = run()
    assert (result.status, result.why) == ("interrupted", "by the operator: nothing was changed")
    assert result.hint.endswith("it reads the facts anew")


def test_who_interrupts_after_it_is_told_what_goes_on_and_sees_no_table_of_unknowns(world, run):
    world.interrupts = "after"
    result = run()
    assert result.why == "by the operator: node-174 is started again"
    assert result.hint == "fleetops probe node-174"
    assert result.reclaimed == ()


def test_the_kernel_log_of_a_silent_vm_is_kept_before_its_power_goes(world):
    one = silent()
    vm = replace(one, node=replace(KNOWN, guest=Guest(kind="vm", id=174)))
    kept = make_plan(BOOK, situation(vm)).steps[0]
    assert [action.command.argv[:4] for action in kept.actions if action.command.argv[0] == "qm"] == [
        ("qm", "guest", "exec", "174")
    ]
