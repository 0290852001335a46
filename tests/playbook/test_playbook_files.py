"""Playbook files: the shipped ones hold, and a bad one tells all that is wrong with it at once."""

from pathlib import Path

import pytest

from fleetops.model.errors import UsageError
from fleetops.playbook.load import PlaybookInvalid, load_playbook, shipped_playbook, without_relaunch
from fleetops.resources import resource_folder

SHIPPED = sorted(path.stem for path in resource_folder("playbooks").glob("*.yaml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_playbook_is_valid(name):
    assert shipped_playbook(name).entries


def test_recover_climbs_the_ladder_in_order_and_then_relaunches():
    steps = [entry.step for entry in shipped_playbook("recover").entries]
    assert steps == [
        "keep-evidence", "stop-service", "clear-leftovers", "reset-gpus", "power-cycle", "verify-reclaimed",
        "prove", "size", "preflight", "start-guard", "start-service", "await-ready", "record-launch",
    ]  # fmt: skip


def test_a_launch_is_proven_before_it_is_sized_and_guarded_before_it_is_started():
    assert [entry.step for entry in shipped_playbook("launch").entries] == [
        "prove", "size", "preflight", "start-guard", "start-service", "await-ready", "record-launch"
    ]  # fmt: skip


def test_a_reset_is_only_for_gpus_that_hold_memory_or_ask_for_it():
    reset = next(entry for entry in shipped_playbook("recover").entries if entry.step == "reset-gpus")
    assert set(reset.when) == {"gpu-memory-held", "gpu-wants-reset"}


def test_what_a_rung_cannot_help_is_left_to_the_next_one_and_the_last_leaves_it_to_a_person():
    rungs = {entry.step: entry.on_failure for entry in shipped_playbook("recover").entries[:6]}
    assert rungs == {
        "keep-evidence": "stop", "stop-service": "next", "clear-leftovers": "stop", "reset-gpus": "next",
        "power-cycle": "stop", "verify-reclaimed": "stop",
    }  # fmt: skip


def test_without_relaunch_ends_with_the_proof_that_the_node_is_clean():
    assert without_relaunch(shipped_playbook("recover")).entries[-1].step == "verify-reclaimed"


def test_kill_touches_nothing_on_the_hypervisor():
    assert {entry.step for entry in shipped_playbook("kill").entries} == {
        "keep-evidence", "stop-service", "clear-leftovers"
    }  # fmt: skip


def test_all_problems_of_a_file_are_told_at_once_with_their_places(tmp_path: Path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "summary: x\n"
        "steps:\n"
        "  - step: stop-servise\n"
        "  - step: stop-service\n"
        "    options: {grace: soon, grase: 1s}\n"
        "    until: [rankz]\n"
        "  - step: reset-gpus\n"
        "    when: [gpu-memory-hold]\n"
        "    on-failure: retry\n"
    )
    with pytest.raises(PlaybookInvalid) as caught:
        load_playbook(path)
    told = str(caught.value)
    assert "bad.yaml:3:11" in told
    assert "did you mean `stop-service`?" in told
    assert "did you mean `gpu-memory-held`?" in told
    assert "did you mean `ranks`?" in told
    assert "did you mean `grace`?" in told
    assert "bad.yaml:9:17" in told
    assert len(caught.value.problems) == 6


def test_an_unknown_playbook_names_those_there_are():
    with pytest.raises(UsageError) as caught:
        shipped_playbook("recovr")
    assert "recover" in caught.value.hint
