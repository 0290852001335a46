"""Rung 4 that goes on from an interrupted run: the stop is done, so what is left is the proof, the reset, the start, the return."""

from dataclasses import replace

import pytest
from machines import MACHINE_ID
from test_power_cycle import ALL_GPUS, GUEST_174, STOPPED_174, World, container, run, silent, situation

from fleetops.model.errors import Refused, StepFailed
from fleetops.steps.power_cycle import plan
from fleetops.steps.support.base import Situation
from fleetops.steps.support.comeback import Life
from fleetops.steps.support.power_claims import guest_in, life_in, note_of

LIFE = Life(machine_id=MACHINE_ID, boot_id="b0", first_pid=9, first_ticks="777")
OLD = "20261130-120000-node-174-abc123"


class Resumed(World):
    """The guest is down when the run begins, and one before it has noted whose life it ended."""

    refuses = False

    def __init__(self, **fields) -> None:
        scenes = {
            "up": silent(container(guest=STOPPED_174)),
            "down": silent(container(guest=STOPPED_174)),
            "back": container(guest=replace(GUEST_174, init_pid=99)),
        }
        super().__init__(**{**scenes, **fields})
        self.phase = "down"
        self.look()

    def look(self) -> Situation:
        self.situation = replace(super().look(), stopped_by=OLD, stopped_life=note_of(LIFE, 174))
        return self.situation

    def change(self, action) -> object:
        if self.refuses:
            raise Refused("guest 174 is locked by Proxmox (backup)", guard="proxmox-lock", host="pve-01")
        return self.restore(action)


def test_it_is_not_stopped_again_but_reset_and_started():
    world = Resumed()
    assert "started, and back" in run(world)
    assert world.done == [f"fleetops-reset-gpus {ALL_GPUS}", "pct start 174"]


def test_a_guest_of_which_something_lives_is_not_started():
    world = Resumed(lives="D")
    with pytest.raises(StepFailed, match=rf"is not proven down 120 s later: run {OLD} has stopped it"):
        run(world)
    assert world.done == []


def test_a_guard_that_does_not_hold_any_more_keeps_it_stopped_and_says_so():
    world = Resumed()
    world.refuses = True
    with pytest.raises(
        Refused, match="node-174 is stopped and could not be started: guest 174 is locked"
    ) as refused:
        run(world)
    assert (refused.value.guard, refused.value.hint) == (
        "proxmox-lock",
        "fleetops run pve-01 -- pct start 174",
    )


def test_another_machine_that_comes_back_is_noticed_by_what_the_first_run_noted():
    world = Resumed()
    world.situation = replace(world.situation, stopped_life="")
    other = replace(LIFE, machine_id="0bad")
    world.look = lambda: replace(  # type: ignore[method-assign]
        situation(world.scenes[world.phase]), stopped_by=OLD, stopped_life=note_of(other, 174)
    )
    world.situation = world.look()
    with pytest.raises(StepFailed, match="another machine answers as node-174"):
        run(world)


def test_the_plan_says_who_stopped_it_and_has_no_stop():
    seen = replace(situation(silent(container(guest=STOPPED_174))), stopped_by=OLD)
    planned = plan(seen, None)  # type: ignore[arg-type]
    assert planned.detail.startswith(
        f"stopped by run {OLD}; proven down, GPUs reset on pve-01, pct start 174"
    )
    assert [action.command.argv[:2] for action in planned.actions][-1] == ("pct", "start")
    assert not any(action.command.argv[:2] == ("pct", "stop") for action in planned.actions)


def test_a_note_that_is_none_tells_nothing():
    assert (guest_in(note_of(LIFE, 174)), life_in(note_of(LIFE, 174))) == (174, LIFE)
    for text in ("", "not json", "[]", '{"life": {"x": 1}, "guest": "174"}'):
        assert (guest_in(text), life_in(text)) == (None, None)
