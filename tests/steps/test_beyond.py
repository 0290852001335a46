"""What no rung mends: said before anything is begun, with who can mend it."""

from dataclasses import replace

import pytest
from node_scenes import NODE, gpus, missing, observe

from fleetops.checks import judge
from fleetops.model.errors import StepFailed
from fleetops.model.fact import Gap, Missing
from fleetops.model.fleet import Guest, Inventory
from fleetops.model.gpu import DRIVER_MISMATCH, DRIVER_UNRESPONSIVE, GPUS, LostGpu
from fleetops.steps.support.base import Situation
from fleetops.steps.support.beyond import beyond
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
