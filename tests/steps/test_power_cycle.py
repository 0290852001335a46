"""Rung 4: nothing is believed that a tool says; what is down comes up again, and is the same machine with a new life."""

import re
from dataclasses import replace

import pytest
from machines import GUEST_181, MACHINE_ID, VM, bare, identity, silent, vm
from node_scenes import (
    HYPERVISOR,
    NODE,
    gpus,
    holders,
    hypervisor_readings,
    observe,
    process,
    service_processes,
)

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import DRIVER_UNRESPONSIVE, GPUS
from fleetops.model.guest import (
    CLAIMS,
    GUEST,
    GUESTS,
    TASKS,
    DeviceClaim,
    GuestEntry,
    GuestProcess,
    GuestState,
)
from fleetops.model.machine import HOLDERS, IDENTITY
from fleetops.model.plan import Action
from fleetops.steps.power_cycle import STEP, WHILE_DOWN, plan
from fleetops.steps.support.base import Situation, Skip
from fleetops.steps.support.interrupted import LEFT_BEHIND, LeftBehind

GUEST_174 = GuestState(
    kind="lxc", id=174, status="running", config={"hostname": "node-174"}, init_pid=9, machine_id=MACHINE_ID
)
HANGS = Missing(Gap.TIMED_OUT, "nvidia-smi (pid 7) in D for 20 s", reason=DRIVER_UNRESPONSIVE)
RESET_DONE = "GPU 00000000:10:00.0 was successfully reset.\nAll done.\n"
NODE_174 = identity(hostname="node-174")


def container(*processes, guest=GUEST_174, facts=None, on_host=None) -> Observation:
    beside = {
        **hypervisor_readings(), GUEST: guest, TASKS: (), GPUS: on_host or gpus(8),
        GUESTS: (GuestEntry(kind="lxc", id=174, name="node-174", status=guest.status),),
        CLAIMS: (DeviceClaim(guest_id=174, kind="lxc", minors=tuple(range(8))),),
    }  # fmt: skip
    return observe(*processes, facts={IDENTITY: NODE_174, **(facts or {})}, on_hypervisor=beside)


def situation(observation: Observation) -> Situation:
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),  # type: ignore[arg-type]
        observation=observation,
        findings=(),
        before=observation,
        run_id="run-1",
    )


class World:
    """A hypervisor with one guest, and the desk in front of it: each command has the effect that the test gives it.

    `up` is the guest before, `down` while it is stopped, `back` after its start; `stop`, `reset` and `start` are what the
    commands print and end with, `lives` the state in which the first process outlives the stop.
    """

    def __init__(self, up, down, back, *, stop=None, reset=None, start=None, lives="") -> None:
        self.scenes = {"up": up, "down": down, "back": back}
        self.answers = {"stop": stop, "reset": reset or Outcome(status=0, stdout=RESET_DONE), "start": start}
        self.phase = "up"
        self.lives = lives
        self.done: list[str] = []
        self.kept: dict[str, str] = {}
        self.told: list[str] = []
        self.time = 0.0
        self.memo: dict[str, LeftBehind] = {}
        self.interrupts = ""
        self.situation = situation(up)

    def look(self) -> Situation:
        self.situation = situation(self.scenes[self.phase])
        return self.situation

    def ask(self, host: str, command: Command) -> Outcome:
        assert host in {"pve-01", "pve-02"}
        if command.argv[3] == "fleetops-life":
            there = self.phase == "up" or (self.phase == "down" and self.lives)
            return Outcome(status=0, stdout=f"777 {self.lives or 'S'}\n" if there else "")
        name = command.argv[4].rpartition("-")[2]
        if not any(done.split()[1] == name for done in self.done):
            return Outcome(status=0, stdout="absent\n")
        answer = self.answers[name] or Outcome(status=0)
        state = "running" if answer.status is None else f"ended {answer.status}"
        return Outcome(status=0, stdout=f"{state}\n{answer.stdout}", stderr=answer.stderr)

    def change(self, action: Action) -> Outcome:
        assert action.command.argv[3] == "fleetops-submit"
        if self.interrupts == "before the stop":
            raise KeyboardInterrupt
        self.done.append(" ".join(action.command.argv[9:]))
        self.phase = "down"
        if self.interrupts == "with the stop":
            raise KeyboardInterrupt
        return Outcome(status=0)

    def change_while_down(self, action: Action, guards: tuple[str, ...]) -> Outcome:
        assert (self.phase, guards) == ("down", WHILE_DOWN)
        self.done.append(f"{action.command.argv[3]} {action.command.argv[4]}")
        if isinstance(self.answers["reset"], BaseException):
            raise self.answers["reset"]
        return self.answers["reset"]

    def restore(self, action: Action) -> Outcome:
        self.done.append(" ".join(action.command.argv[9:]))
        if (self.answers["start"] or Outcome(status=0)).ok:
            self.phase = "back"
        return Outcome(status=0)

    def keep(self, name: str, text: str) -> None:
        self.kept[name] = text

    def tell(self, text: str) -> None:
        self.told.append(text)

    def wait(self, seconds: float) -> None:
        if self.interrupts == "a wait":
            raise KeyboardInterrupt
        self.time += seconds

    def now(self) -> float:
        return self.time


def run(world: World) -> str:
    return STEP.run(world, STEP.settle({}))  # type: ignore[arg-type]


STOPPED_174 = replace(GUEST_174, status="stopped", init_pid=None, machine_id="")
STOPPED_181 = replace(GUEST_181, status="stopped", init_pid=None, held_bytes=None)
LIES = vm(beside={GUEST: replace(GUEST_181, status="stopped")})
ALL_GPUS = ",".join(f"GPU-{number}" for number in range(8))


def of_container(**fields) -> World:
    scenes = {
        "up": container(),
        "down": silent(container(guest=STOPPED_174)),
        "back": container(guest=replace(GUEST_174, init_pid=99)),
    }
    return World(**{**scenes, **fields})


def of_vm(**fields) -> World:
    again = {IDENTITY: identity(boot_id="b2", uptime_s=20)}
    scenes = {
        "up": vm(),
        "down": silent(vm(beside={GUEST: STOPPED_181})),
        "back": vm(facts=again, beside={GUEST: replace(GUEST_181, init_pid=6200)}),
    }
    return World(**{**scenes, **fields})


def test_a_container_is_stopped_its_gpus_reset_on_the_host_and_started():
    world = of_container()
    assert run(world) == "stopped, proven down, started, and back"
    assert world.done == ["pct stop 174", f"fleetops-reset-gpus {ALL_GPUS}", "pct start 174"]


def test_a_vm_is_stopped_and_started_and_proxmox_resets_its_devices():
    world = of_vm(start=Outcome(status=0, stdout="", stderr="TASK WARNINGS: 1\n"))
    assert run(world) == "stopped, proven down, started, and back"
    assert world.done == ["qm stop 181", "qm start 181"]
    assert "TASK WARNINGS" in world.kept["start.txt"]


def test_a_silent_node_is_known_by_what_was_recorded_of_it():
    up = silent(vm(node=replace(VM, machine_id=MACHINE_ID)))
    assert run(of_vm(up=up)) == "stopped, proven down, started, and back"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"down": LIES},
            r"node-181 is not proven down 120 s later: qm stop 181 ended with success, and kvm is still there \(pid 5120\)",
        ),
        ({"lives": "D"}, "its process 5120 on pve-02 is still there in D state, which no signal ends"),
    ],
    ids=["Proxmox still sees it", "nobody sees it but its number"],
)
def test_a_stop_that_lies_is_no_stop(fields, told):
    world = of_vm(**fields)
    with pytest.raises(StepFailed, match=told):
        run(world)
    assert world.done == ["qm stop 181"]


def test_a_container_that_cannot_be_stopped_is_given_up_in_time():
    stuck = replace(
        GUEST_174, init_pid=None, left=(GuestProcess(pid=4242, state="D", comm="sglang::schedul"),)
    )
    world = of_container(down=silent(container(guest=stuck)), stop=Outcome(status=124))
    with pytest.raises(StepFailed) as failed:
        run(world)
    assert "pct stop 174 did not end in 60 s" in failed.value.message
    assert "1 of its processes are left: 4242 (sglang::schedul) in D state" in failed.value.message
    assert world.done == ["pct stop 174"]


def test_a_stop_whose_answer_was_lost_is_decided_by_the_facts():
    assert run(of_vm(stop=Outcome(status=0))).startswith("stopped")
    world = of_vm(down=vm())
    world.ask = lambda host, command: Outcome(
        status=0, stdout="777 S\n" if command.argv[3] == "fleetops-life" else "lost\n"
    )
    with pytest.raises(StepFailed, match="what became of qm stop 181 is not known, and kvm is still there"):
        run(world)


@pytest.mark.parametrize(
    "said",
    ["can't lock file '/run/lock/lxc/pve-config-174.lock' - got timeout\n", "CT is locked (backup)\n"],
)
def test_a_lock_of_proxmox_refuses_and_nothing_is_changed(said):
    world = of_container(stop=Outcome(status=255, stderr=said))
    with pytest.raises(Refused, match="nothing is changed") as refused:
        run(world)
    assert refused.value.guard == "proxmox-lock"
    assert world.done == ["pct stop 174"]


def test_a_start_that_only_warns_that_the_reset_did_not_happen_fails():
    warning = (
        "failed to reset PCI device '0000:4f:00.0', but trying to continue as not all devices need a reset\n"
    )
    world = of_vm(start=Outcome(status=0, stderr=warning))
    with pytest.raises(
        StepFailed, match=r"is back, and its GPUs were not reset: failed to reset PCI device '0000:4f:00\.0'"
    ):
        run(world)


@pytest.mark.parametrize(
    "reset",
    [
        Outcome(
            status=255, stdout="  GPU 00000000:10:00.0: In use by another client\nGPU could not be reset\n"
        ),
        Refused("guest 175 is running and has GPU 3 of node-174 too", guard="tenants"),
    ],
    ids=["the driver refuses", "a guard does"],
)
def test_when_the_reset_fails_the_container_is_started_all_the_same(reset):
    world = of_container(reset=reset)
    with pytest.raises(StepFailed, match="node-174 is started again"):
        run(world)
    assert world.done[-1] == "pct start 174"


def test_an_operator_who_interrupts_leaves_no_stopped_container_behind():
    world = of_container(reset=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(world)
    assert world.done[-1] == "pct start 174"
    left = world.memo[LEFT_BEHIND]
    assert left.what == "node-174 is started again: pct start 174 goes on on pve-01, and is not waited for"
    assert left.to_type.startswith("fleetops probe node-174 shows when it is back")


def test_one_who_interrupts_its_start_is_told_that_it_goes_on():
    world = of_container(start=Outcome(status=None))
    world.interrupts = "a wait"
    with pytest.raises(KeyboardInterrupt):
        run(world)
    assert world.done[-1] == "pct start 174"
    assert "pct start 174 goes on on pve-01" in world.memo[LEFT_BEHIND].what


@pytest.mark.parametrize(
    ("when", "fields", "what", "to_type"),
    [
        ("with the stop", {}, "node-181 is stopped, and is not started again", "fleetops run pve-02 -- qm start 181"),
        ("a wait", {"stop": Outcome(status=None)}, "qm stop 181 goes on on pve-02, for 120 s at most, and node-181 is not", "fleetops probe node-181 shows"),
        ("a wait", {"down": LIES}, r"node-181 is not proven down, and is not started again: kvm is still there", "fleetops probe node-181 shows"),
        ("a wait", {"lives": "D"}, "not proven down, .* its process 5120 on pve-02 is still there in D state", "only once it is down: fleetops run"),
    ],
    ids=["it is down", "it goes on", "kvm lives", "an old process lives"],
)  # fmt: skip
def test_one_who_interrupts_the_stop_is_told_how_it_stands(when, fields, what, to_type):
    world = of_vm(**fields)
    world.interrupts = when
    with pytest.raises(KeyboardInterrupt):
        run(world)
    assert world.done == ["qm stop 181"]
    assert re.search(what, world.memo[LEFT_BEHIND].what)
    assert to_type in world.memo[LEFT_BEHIND].to_type


def test_of_a_stop_that_was_never_begun_nothing_is_said():
    world = of_container()
    world.interrupts = "before the stop"
    with pytest.raises(KeyboardInterrupt):
        run(world)
    assert (world.done, world.memo) == ([], {})
    assert "pct stop 174 on pve-01" not in world.told


def test_a_start_that_is_not_taken_says_how_to_start_it():
    world = of_container()
    world.restore = lambda action: Outcome(status=77, stderr="the lock of run-1 is not its own any more\n")
    with pytest.raises(
        StepFailed, match="node-174 is stopped and could not be started: pve-01 did not take"
    ) as failed:
        run(world)
    assert failed.value.hint == "fleetops run pve-01 -- pct start 174"


def test_a_guest_that_cannot_be_started_is_said_to_be_stopped():
    said = "PCI device '0000:4f:00.0' already in use by VMID '182'\n"
    with pytest.raises(StepFailed) as failed:
        run(of_vm(start=Outcome(status=255, stderr=said)))
    assert (
        "node-181 is stopped and could not be started: qm start 181 ended with status 255"
        in failed.value.message
    )
    assert "already in use by VMID '182'" in failed.value.message
    assert failed.value.hint == "fleetops run pve-02 -- qm start 181"


@pytest.mark.parametrize(
    ("back", "told"),
    [
        (silent(vm(beside={GUEST: replace(GUEST_181, init_pid=6200)})), "it does not answer .*; pve-01 says the guest is running"),
        (vm(beside={GUEST: replace(GUEST_181, init_pid=6200)}), "boot id of before: it was not started anew"),
        (vm(facts={IDENTITY: identity(boot_id="")}), "its boot id cannot be read"),
        (vm(facts={IDENTITY: identity(boot_id="b2")}), "its first process is that of before"),
        (vm(facts={IDENTITY: identity(boot_id="b2", machine_id="f" * 32)}), "another machine answers as node-181"),
    ],
    ids=["never returns", "same boot", "a boot id that proves nothing", "same emulator", "another machine"],
)  # fmt: skip
def test_what_does_not_come_back_as_the_same_machine_with_a_new_life_fails(back, told):
    with pytest.raises(StepFailed, match=told):
        run(of_vm(back=back))


def test_a_container_has_a_new_first_process_when_it_is_back():
    with pytest.raises(StepFailed, match="its first process is that of before"):
        run(of_container(back=container()))


@pytest.mark.parametrize(
    ("observation", "told"),
    [
        (bare(), "its power is switched by a person"),
        (container(on_host=HANGS), "a restart of node-174 does not reach it: a person reboots pve-01"),
    ],
    ids=["bare metal", "the host's driver hangs"],
)
def test_where_only_a_person_can_help_it_is_skipped_and_says_so(observation, told):
    world = World(observation, observation, observation)
    with pytest.raises(Skip, match=told):
        run(world)
    assert world.done == []
    assert told in plan(situation(observation), STEP.settle({})).skip


def test_a_vm_whose_driver_hangs_is_stopped_and_started():
    assert run(of_vm(up=vm(facts={GPUS: HANGS}))).startswith("stopped, proven down")


@pytest.mark.parametrize(
    ("observation", "told"),
    [
        (
            container(process(50, "python3", "python3", "train.py"), facts={HOLDERS: holders(50)}),
            "cannot be shown to be the service's",
        ),
        (
            replace(container(*service_processes()), profile=replace(container().profile, port=1)),
            "another service .* would end with it",
        ),
    ],
    ids=["a stranger's work", "another service"],
)
def test_it_refuses_to_end_what_is_not_the_services(observation, told):
    world = World(observation, observation, observation)
    with pytest.raises(Refused, match=told):
        run(world)
    assert world.done == []
    assert plan(situation(observation), STEP.settle({})).blocked


def test_the_plan_shows_each_command():
    planned = plan(situation(container()), STEP.settle({}))
    assert [action.command.argv[:3] for action in planned.actions][::2] == [
        ("pct", "stop", "174"),
        ("pct", "start", "174"),
    ]
    assert planned.actions[1].command.argv[3] == "fleetops-reset-gpus"
    assert {action.host for action in planned.actions} == {HYPERVISOR.name}
    shown = plan(situation(vm()), STEP.settle({}))
    assert shown.detail == "qm stop 181, proven down, qm start 181 (may take 321 s)"
