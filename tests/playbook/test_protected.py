"""Protected hosts: whatever the playbook and the facts, nothing is begun on them, and no option overrides it."""

from dataclasses import replace
from pathlib import Path

import pytest
from machines import NO_BANNER, bare, own_gpus, silent, vm
from node_scenes import NODE, gpus, hypervisor_readings, incident, observe

from fleetops.checks import judge
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.units import GIB
from fleetops.playbook.guards import GUARDS, WAIVABLE
from fleetops.playbook.load import shipped_playbook
from fleetops.playbook.plan import make_plan
from fleetops.resources import resource_folder
from fleetops.steps.support.base import Situation

BOOKS = sorted(path.stem for path in resource_folder("playbooks").glob("*.yaml"))
HELD = {"memory_used_bytes": 90 * GIB}
SCENES = {
    "a wedged container": observe(*incident()),
    "a container's GPU memory held": observe(
        facts={GPUS: gpus(8, **HELD)}, on_hypervisor={**hypervisor_readings(), GPUS: gpus(8, **HELD)}
    ),
    "a VM's GPU memory held": vm(facts={GPUS: own_gpus(**HELD)}),
    "a VM that is silent": silent(vm(), NO_BANNER),
    "a bare machine": bare(facts={GPUS: own_gpus(**HELD)}),
    "a node with nothing running": observe(),
}


def protect(observation, who: str):
    if who == "node":
        return replace(observation, node=replace(observation.node, protected=True))
    return replace(observation, hypervisor=replace(observation.hypervisor, protected=True))


def plan(book: str, observation):
    everything_waived = dict.fromkeys((*WAIVABLE, *GUARDS), "I know better")
    situation = Situation(
        inventory=Inventory(path=Path(), nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run-1",
        waived=everything_waived,
    )
    return make_plan(shipped_playbook(book), situation)


CASES = [
    (scene, who)
    for scene, observation in SCENES.items()
    for who in ("node", "hypervisor")
    if who == "node" or observation.hypervisor is not None
]


@pytest.mark.parametrize(("scene", "who"), CASES)
@pytest.mark.parametrize("book", BOOKS)
def test_every_playbook_is_refused_before_its_first_step(book, scene, who):
    observation = SCENES[scene]
    made = plan(book, protect(observation, who))
    assert made.first_obstacle is made.steps[0]
    assert made.first_obstacle.guard == "protected"
    named = observation.node.name if who == "node" else observation.hypervisor.name
    assert made.first_obstacle.blocked == f"{named} is protected in the inventory"
    assert all(step.blocked and not step.actions for step in made.steps)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("book", BOOKS)
def test_without_the_mark_it_is_not_what_refuses(book, scene):
    assert "protected" not in {step.guard for step in plan(book, SCENES[scene]).steps}


def test_it_is_none_of_the_guards_that_can_be_waived():
    assert "protected" not in WAIVABLE
    assert "breaker" not in WAIVABLE
