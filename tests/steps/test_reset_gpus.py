"""The reset: persistence mode restored whatever happens, the driver's words read, the facts deciding."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from machines import bare, own_gpus, vm
from node_scenes import (
    NODE,
    SYSTEM,
    gpu,
    gpus,
    holders,
    hypervisor_readings,
    incident,
    missing,
    observe,
    process,
)
from unheard import unheard

from fleetops.model.command import Command, Outcome
from fleetops.model.device_service import DEVICE_SERVICES, DeviceService, DeviceServices
from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import DRIVER_UNRESPONSIVE, GPUS, Gpus
from fleetops.model.guest import CLAIMS, DeviceClaim
from fleetops.model.machine import HOLDERS, PROCESSES
from fleetops.model.plan import Action
from fleetops.model.units import GIB
from fleetops.steps.reset_gpus import STEP, plan
from fleetops.steps.support.base import Situation, Skip
from fleetops.steps.support.resetting import RESET_FAILED

RESET_DONE = "GPU 00000000:10:00.0 was successfully reset.\nAll done.\n"
IN_USE = "The following GPUs could not be reset:\n  GPU 00000000:1A:00.0: In use by another client\n"
HANGS = Missing(Gap.TIMED_OUT, "nvidia-smi (pid 7) in D for 20 s", reason=DRIVER_UNRESPONSIVE)
CLAIM = DeviceClaim(guest_id=174, kind="lxc", minors=tuple(range(8)))


def node(held: tuple[int, ...] = (), *, neighbour_held: bool = True, facts=None, **fields) -> Observation:
    """A node whose GPUs `held` hold memory with nobody behind it; GPU 8 is the neighbour's and in use."""
    seen = tuple(
        gpu(index, persistence=True, memory_used_bytes=90 * GIB if index in held else 0, **fields)
        for index in range(8)
    )
    others = (gpu(8, memory_used_bytes=20 * GIB if neighbour_held else 0, persistence=True), gpu(9))
    on_host = Gpus(driver_version="570", gpus=(*seen, *others))
    inside = Gpus(driver_version="570", gpus=seen)
    beside = {**hypervisor_readings(), GPUS: on_host, CLAIMS: (CLAIM,)}
    return observe(facts={GPUS: inside, **(facts or {})}, on_hypervisor=beside)


def situation(observation: Observation) -> Situation:
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),  # type: ignore[arg-type]
        observation=observation,
        findings=(),
        before=observation,
        run_id="run",
    )


class Desk:
    """Answers changes from a script and shows one observation after the other."""

    def __init__(self, *observations: Observation, answer: Outcome | BaseException | None = None) -> None:
        self._next = list(observations)
        self.situation = situation(self._next[0])
        self.answer = answer or Outcome(status=0, stdout=RESET_DONE)
        self.changed: list[str] = []
        self.memo: dict[str, str] = {}
        self.time = 0.0

    def look(self) -> Situation:
        if len(self._next) > 1:
            self._next.pop(0)
        self.situation = situation(self._next[0])
        return self.situation

    def change(self, action: Action) -> Outcome:
        self.changed.append(" ".join(action.command.argv[3:]))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def ask(self, host: str, command: Command) -> Outcome:
        raise AssertionError

    def tell(self, text: str) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.time += seconds

    def now(self) -> float:
        return self.time


def run(desk: Desk) -> str:
    return STEP.run(desk, STEP.settle({}))  # type: ignore[arg-type]


def test_only_the_gpus_that_hold_memory_are_reset_by_uuid_on_the_hypervisor():
    [reset] = plan(situation(node(held=(2, 5))), STEP.settle({})).actions
    assert reset.host == "pve-01"
    assert reset.command.argv[3:] == ("fleetops-reset-gpus", "GPU-2,GPU-5", "GPU-2,GPU-5", "/run/fleetops")


def test_persistence_mode_is_read_again_afterwards():
    lost = node()
    on_host = lost.hypervisor_facts.value(GPUS)
    off = Gpus(driver_version="570", gpus=tuple(replace(one, persistence=False) for one in on_host.gpus))
    facts = replace(lost.hypervisor_facts, readings={**lost.hypervisor_facts.readings, GPUS.name: off})
    with pytest.raises(StepFailed, match=r"persistence mode was on and is not any more: GPU 0000:10:00\.0"):
        run(Desk(node(held=(0,)), replace(lost, hypervisor_facts=facts)))


NVIDIA_SMI = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$1" in --gpu-reset) eval "$RESET" ;; esac
"""


@pytest.fixture
def hypervisor(tmp_path, monkeypatch):
    """A host whose nvidia-smi writes down its calls, and does to a reset what `RESET` says."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(NVIDIA_SMI)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("RESET", "true")
    return tmp_path / "calls"


def reset_argv() -> tuple[str, ...]:
    """The reset's own argv, its lock in a folder that a plain user can write to."""
    argv = plan(situation(node(held=(0, 1))), STEP.settle({})).actions[0].command.argv
    return (*argv[:-1], str(Path(os.environ["CALLS"]).parent / "run"))


CALLS = ["-pm 0 -i GPU-0,GPU-1", "--gpu-reset -i GPU-0,GPU-1", "-pm 1 -i GPU-0,GPU-1"]


@pytest.mark.parametrize(("what", "status"), [("true", 0), ("exit 255", 255), ("exit 15", 15)])
def test_persistence_mode_is_off_before_and_on_again_after_whatever_the_reset_says(
    hypervisor, monkeypatch, what, status
):
    monkeypatch.setenv("RESET", what)
    assert subprocess.run(reset_argv(), check=False, capture_output=True).returncode == status
    assert hypervisor.read_text().splitlines() == CALLS


def test_persistence_mode_comes_back_when_a_hanging_reset_runs_out_of_time(hypervisor, monkeypatch):
    monkeypatch.setenv("RESET", "exec sleep 60")
    running = subprocess.Popen(
        reset_argv(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not (hypervisor.exists() and "--gpu-reset" in hypervisor.read_text()):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGTERM)
    running.communicate(timeout=20)
    assert running.returncode == 143
    assert hypervisor.read_text().splitlines() == CALLS


def test_a_reset_is_made_and_persistence_mode_comes_back_where_nobody_hears_it(hypervisor, monkeypatch):
    monkeypatch.setenv("RESET", "echo GPU was successfully reset")
    tool = hypervisor.parent / "bin" / "nvidia-smi"
    tool.write_text(f"{NVIDIA_SMI}echo done || exit 1\n")
    assert unheard(reset_argv()) == 0
    assert hypervisor.read_text().splitlines() == CALLS


def test_while_an_earlier_reset_lives_there_is_no_second_one(hypervisor, monkeypatch):
    monkeypatch.setenv("RESET", "exec sleep 60")
    running = subprocess.Popen(
        reset_argv(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not (hypervisor.exists() and "--gpu-reset" in hypervisor.read_text()):
        time.sleep(0.02)
    second = subprocess.run(reset_argv(), check=False, capture_output=True, text=True)
    assert (second.returncode, second.stderr) == (75, "an earlier reset is still running\n")
    os.killpg(running.pid, signal.SIGTERM)
    running.communicate(timeout=20)
    assert hypervisor.read_text().splitlines() == CALLS


def test_a_reset_that_still_runs_refuses_and_is_not_waited_out():
    with pytest.raises(Refused, match="earlier reset is still running on pve-01"):
        run(Desk(node(held=(0,)), answer=Outcome(status=75, stderr="an earlier reset is still running")))


def test_a_connection_that_goes_away_does_not_end_a_reset(hypervisor, monkeypatch):
    monkeypatch.setenv("RESET", "sleep 0.3")
    running = subprocess.Popen(
        reset_argv(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not (hypervisor.exists() and "--gpu-reset" in hypervisor.read_text()):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGHUP)
    running.communicate(timeout=20)
    assert hypervisor.read_text().splitlines() == CALLS


def test_a_driver_that_refuses_is_quoted_and_remembered():
    desk = Desk(node(held=(0,)), answer=Outcome(status=255, stdout=IN_USE))
    with pytest.raises(StepFailed, match="In use by another client") as failed:
        run(desk)
    assert desk.memo[RESET_FAILED] == failed.value.message


def test_what_is_quoted_is_the_gpu_that_was_refused_not_one_that_was_reset():
    said = RESET_DONE.replace("All done.\n", "") + IN_USE
    with pytest.raises(StepFailed, match=r"refused the reset: GPU 00000000:1A:00\.0: In use"):
        run(Desk(node(held=(0,)), answer=Outcome(status=255, stdout=said)))


@pytest.mark.parametrize(
    "lost",
    [Outcome(status=None, stderr="connection lost"), Outcome(status=124, timed_out=True)],
    ids=["connection lost", "ran out of time"],
)
def test_an_answer_that_was_lost_is_decided_by_the_facts_and_not_repeated(lost):
    healed = Desk(node(held=(0,)), node(), answer=lost)
    assert run(healed) == "1 GPU reset"
    still_dirty = Desk(node(held=(0,)), answer=lost)
    with pytest.raises(StepFailed, match="not clean"):
        run(still_dirty)
    assert len(still_dirty.changed) == 1


def test_a_reset_that_says_done_and_did_nothing_fails():
    with pytest.raises(StepFailed, match="still hold 90 GiB"):
        run(Desk(node(held=(0,))))


def test_clean_gpus_are_left_alone():
    desk = Desk(node())
    with pytest.raises(Skip):
        run(desk)
    assert desk.changed == []


def test_a_gpu_that_asks_for_a_reset_gets_one_though_it_holds_nothing():
    asking = node(recovery_action="Reset")
    assert plan(situation(asking), STEP.settle({})).detail.startswith("nvidia-smi --gpu-reset, 8 GPUs")


@pytest.mark.parametrize("action", ["Reboot", "Drain and Reset", "SYSTEM_REBOOT"])
def test_any_other_recovery_action_stops_and_asks(action):
    desk = Desk(node(held=(0,), recovery_action=action))
    with pytest.raises(Refused, match="does not answer"):
        run(desk)
    assert desk.changed == []


def test_while_a_process_holds_the_device_no_reset_is_tried():
    wedged = replace(
        observe(
            *incident(),
            facts={HOLDERS: holders(4137)},
            on_hypervisor={GPUS: gpus(10, memory_used_bytes=GIB), CLAIMS: (CLAIM,)},
        )
    )
    desk = Desk(wedged)
    with pytest.raises(Refused, match=r"4137 in D state .* holds"):
        run(desk)
    assert desk.changed == []
    alone = plan(situation(wedged), STEP.settle({}))
    assert "4137 in D state" in alone.blocked
    after_a_stop = replace(situation(wedged), service_ends_before=True)
    assert plan(after_a_stop, STEP.settle({})).blocked == ""


def watched(held: tuple[int, ...]) -> Observation:
    """Somebody's nvidia-smi has the devices open at the moment of the look."""
    passer_by = process(60, "nvidia-smi", "nvidia-smi")
    readings = {PROCESSES: (*SYSTEM, passer_by), HOLDERS: holders(60)}
    return node(held=held, facts=readings)


def test_one_who_only_asks_the_driver_something_is_waited_for():
    desk = Desk(watched((0,)), watched((0,)), node(held=(0,)), node())
    assert run(desk) == "1 GPU reset"


def test_one_who_goes_on_asking_is_in_the_way():
    desk = Desk(watched((0,)))
    with pytest.raises(Refused, match=r"process 60 \(nvidia-smi\) in node-174 holds .*: stop it there first"):
        run(desk)
    assert desk.changed == []


def test_what_a_reset_cannot_help_is_left_to_the_next_rung_where_the_playbook_says_so():
    wedged = observe(
        *incident(),
        facts={HOLDERS: holders(4137)},
        on_hypervisor={GPUS: gpus(10, memory_used_bytes=GIB), CLAIMS: (CLAIM,)},
    )
    with pytest.raises(Skip, match="4137 in D state"):
        STEP.run(Desk(wedged), STEP.settle({"or-skip": True}))  # type: ignore[arg-type]
    strange = node(held=(0,), facts={PROCESSES: (*SYSTEM, process(50, "python3", "x")), HOLDERS: holders(50)})
    with pytest.raises(Refused, match="process 50 holds"):
        STEP.run(Desk(strange), STEP.settle({"or-skip": True}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scene", "told"),
    [(bare, "no reset gets through to it"), (vm, "stopping and starting the guest resets them all")],
)
def test_a_driver_that_hangs_is_said_in_the_plan_and_left_to_the_next_rung(scene, told):
    hanging = scene(facts={GPUS: HANGS})
    planned = plan(situation(hanging), STEP.settle({"or-skip": True}))
    assert "hangs" in planned.skip
    assert told in planned.skip
    with pytest.raises(Skip, match="hangs"):
        STEP.run(Desk(hanging), STEP.settle({"or-skip": True}))  # type: ignore[arg-type]
    assert plan(situation(hanging), STEP.settle({})).guard == "driver"
    with pytest.raises(Refused, match="hangs"):
        run(Desk(hanging))


def test_a_vm_of_which_only_a_part_answers_is_left_to_its_stop_and_start():
    partial = vm(facts={GPUS: replace(own_gpus(), problems=("GPU is lost",))})
    with pytest.raises(Skip, match="stopping and starting the guest resets them all"):
        STEP.run(Desk(partial), STEP.settle({"or-skip": True}))  # type: ignore[arg-type]
    with pytest.raises(Refused, match="does not tell of every GPU"):
        run(Desk(partial))


@pytest.mark.parametrize(
    ("failing", "outcome"),
    [
        ((("fb_memory_usage/used", "GPU requires reset"),), "1 GPU"),
        ((("fb_memory_usage/used", "Unknown Error"),), ""),
    ],
)
def test_a_gpu_that_cannot_be_read_is_reset_only_where_it_asks_for_it(failing, outcome):
    seen = node()
    on_host = seen.hypervisor_facts.value(GPUS)
    broken = replace(on_host, gpus=(replace(on_host.gpus[0], failing=failing), *on_host.gpus[1:]))
    facts = replace(seen.hypervisor_facts, readings={**seen.hypervisor_facts.readings, GPUS.name: broken})
    planned = plan(situation(replace(seen, hypervisor_facts=facts)), STEP.settle({}))
    assert outcome in planned.detail
    assert planned.blocked == "" if outcome else "cannot be read" in planned.blocked


def test_services_that_were_stopped_and_do_not_run_again_fail_it():
    service = DeviceServices(services=(DeviceService(unit="nvidia-dcgm.service", main_pid=60),))

    def with_services(observation, services):
        readings = {**observation.hypervisor_facts.readings, DEVICE_SERVICES.name: services}
        return replace(observation, hypervisor_facts=replace(observation.hypervisor_facts, readings=readings))

    before, after = with_services(node(held=(0,)), service), with_services(node(), DeviceServices())
    with pytest.raises(
        StepFailed, match=r"stopped for the reset and not running again: nvidia-dcgm\.service"
    ):
        run(Desk(before, after))
    assert run(Desk(before, with_services(node(), service))) == "1 GPU reset"


def test_gpus_that_cannot_be_read_are_not_reset():
    unknown = observe(on_hypervisor={GPUS: missing(), CLAIMS: (CLAIM,)})
    with pytest.raises(Refused, match="could not be read on pve-01"):
        run(Desk(unknown))
