"""What no rung mends: said before anything is begun, with who can mend it."""

from dataclasses import replace

import pytest
from node_scenes import NODE, gpus, memory, missing, observe

from fleetops.checks import judge
from fleetops.model.errors import StepFailed
from fleetops.model.fact import Gap, Missing
from fleetops.model.fleet import Guest, Inventory
from fleetops.model.gpu import DRIVER_MISMATCH, DRIVER_UNRESPONSIVE, GPUS, LostGpu
from fleetops.model.machine import MEMORY
from fleetops.model.units import GIB
from fleetops.steps.support.base import Situation
from fleetops.steps.support.beyond import beyond
from fleetops.steps.support.resetting import RESET_FAILED
from fleetops.steps.verify_reclaimed import STEP

LOST = replace(
    gpus(7), problems=("GPU 7 is lost",), lost=(LostGpu(bdf="0000:17:00.0", said="GPU 7 is lost"),)
)
MISMATCH = Missing(Gap.UNPARSABLE, "Driver/library version mismatch", reason=DRIVER_MISMATCH)
HANGS = Missing(
    Gap.TIMED_OUT, "driver unresponsive: nvidia-smi (pid 4242) in D for 340 s", reason=DRIVER_UNRESPONSIVE
)
BARE = replace(NODE, hypervisor="", guest=None)
VM = replace(NODE, guest=Guest(kind="vm", id=174))


def situation(node=NODE, **facts):
    observation = observe(node=node, **facts)
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": node}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )


def blocked(one):
    planned = STEP.plan(one, STEP.settle({}))
    return planned.guard if planned.hopeless and planned.blocked else ""


@pytest.mark.parametrize(("node", "machine"), [(NODE, "pve-01"), (BARE, "node-174")])
def test_a_lost_gpu_needs_a_person_where_the_driver_is_the_machines_own(node, machine):
    found = beyond(situation(node, facts={GPUS: LOST}))
    assert (found.guard, blocked(situation(node, facts={GPUS: LOST}))) == ("driver", "driver")
    assert f"a person power-cycles {machine}" in found.mend


def test_a_vm_may_find_its_lost_gpu_again():
    assert beyond(situation(VM, facts={GPUS: LOST})) is None


@pytest.mark.parametrize("node", [NODE, BARE, VM])
def test_a_driver_of_two_releases_needs_a_person_everywhere(node):
    found = beyond(situation(node, facts={GPUS: MISMATCH}))
    assert (found.guard, blocked(situation(node, facts={GPUS: MISMATCH}))) == ("driver", "driver")
    assert "Driver/library version mismatch" in found.why
    assert "one release" in found.mend


def test_a_containers_driver_is_its_hosts():
    assert beyond(situation(on_hypervisor={GPUS: MISMATCH})).guard == "driver"


def test_what_is_merely_unknown_stops_nothing_here():
    assert beyond(situation(facts={GPUS: missing()})) is None
    assert beyond(situation()) is None


class Desk:
    """A node that never changes."""

    def __init__(self, one):
        self.situation = one
        self.waited = 0.0
        self.reported = ()
        self.memo = {}

    def look(self):
        return self.situation

    def now(self):
        return self.waited

    def wait(self, seconds):
        self.waited += seconds

    def tell(self, text):
        pass

    def report_reclaimed(self, rows):
        self.reported = rows


def test_nobody_waits_for_a_driver_that_hangs():
    desk = Desk(situation(facts={GPUS: HANGS}))
    with pytest.raises(StepFailed, match=r"the GPU driver does not answer: nvidia-smi \(pid 4242\)"):
        STEP.run(desk, STEP.settle({}))
    assert desk.waited == 0
    assert desk.reported


def test_what_is_only_late_is_waited_for():
    desk = Desk(situation(facts={GPUS: missing()}))
    with pytest.raises(StepFailed, match="not everything is back"):
        STEP.run(desk, STEP.settle({"within": 10}))
    assert desk.waited >= 10


@pytest.mark.parametrize(("node", "machine"), [(NODE, "pve-01"), (BARE, "node-174")])
def test_after_a_driver_that_hangs_a_person_reboots_the_machine_that_it_runs_on(node, machine):
    hanging = situation(node, facts={GPUS: HANGS})
    told = f"a person reboots {machine}: its GPU driver hangs; then fleetops recover node-174"
    with pytest.raises(StepFailed) as failed:
        STEP.run(Desk(hanging), STEP.settle({}))
    assert failed.value.hint == told
    assert STEP.plan(hanging, STEP.settle({})).detail.endswith(told)


def test_a_vm_takes_its_driver_with_it_so_the_plan_names_nobody():
    planned = STEP.plan(situation(VM, facts={GPUS: HANGS}), STEP.settle({}))
    assert "a person" not in planned.detail


HELD = {GPUS: gpus(8, memory_used_bytes=20 * GIB)}


def test_on_bare_metal_nobody_waits_for_memory_that_a_failed_reset_has_left():
    desk = Desk(situation(BARE, facts=HELD))
    desk.memo[RESET_FAILED] = "the driver refused the reset: GPU 0: Unknown Error"
    with pytest.raises(StepFailed, match=r"GPU memory .*; the driver refused the reset: GPU 0") as failed:
        STEP.run(desk, STEP.settle({}))
    assert desk.waited == 0
    assert failed.value.hint == (
        "a person reboots node-174: the reset of its GPUs failed; then fleetops recover node-174"
    )


def test_what_comes_back_without_a_reset_is_waited_for_all_the_same():
    desk = Desk(situation(BARE, facts={**HELD, MEMORY: memory(40)}))
    desk.memo[RESET_FAILED] = "the driver refused the reset"
    with pytest.raises(StepFailed, match=r"MemAvailable .*; the driver refused the reset"):
        STEP.run(desk, STEP.settle({"within": 10}))
    assert desk.waited >= 10


def test_a_reset_that_failed_before_the_guest_was_started_again_says_nothing():
    desk = Desk(situation(facts=HELD))
    desk.memo[RESET_FAILED] = "the driver refused the reset"
    with pytest.raises(StepFailed) as failed:
        STEP.run(desk, STEP.settle({"within": 10}))
    assert "refused" not in failed.value.message
    assert failed.value.hint == "no rung is left for it, a person decides: fleetops probe node-174"
