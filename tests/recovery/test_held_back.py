"""What holds a change back that the node itself would allow: attempts, the fleet's breaker, a protected host."""

import json
import shutil
import time
from pathlib import Path

import pytest
from command_line import CommandLine

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory
from fleetops.model.breaker import CountedRun
from fleetops.store.breaker import BreakerStore

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


def break_again(fleet, node: str) -> None:
    """As it happens to a fleet: nothing of what was done before is forgotten."""
    hold_gpu_memory(BrokenNode(fleet.lab.folder, node))


def events(result, kind: str) -> list[dict]:
    lines = (Path(result["evidence"]) / "journal.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def counted(fleet) -> str:
    return fleet.run("pve-01", "cat", "/run/fleetops/attempts/node-174")


def test_a_node_is_reset_once_in_half_an_hour_and_again_only_for_a_reason(fleet):
    fleet.break_node("gpu-memory-held")
    first = fleet.fleetops("reset-gpus", "node-174", "--yes", "--json")
    assert first.status == 0, first.stderr
    before = counted(fleet)
    assert first.json["run"] in before
    assert [event["host"] for event in events(first.json, "attempt")] == ["pve-01"]

    break_again(fleet, "node-174")
    dry = fleet.fleetops("reset-gpus", "node-174", "--dry-run", "--json")
    assert (dry.status, dry.json["guard"]) == (5, "attempts")
    refused = fleet.fleetops("reset-gpus", "node-174", "--yes", "--json")
    assert (refused.status, refused.error["guard"]) == (5, "attempts")
    assert f"by run {first.json['run']} of " in refused.error["message"]
    assert "the next such run is allowed in " in refused.error["message"]
    assert counted(fleet) == before

    reason = "attempts=its cable was replaced"
    waived = fleet.fleetops("reset-gpus", "node-174", "--yes", "--json", "--waive", reason)
    assert waived.status == 0, waived.stderr
    assert events(waived.json, "begin")[0]["waived"] == {"attempts": "its cable was replaced"}
    assert waived.json["run"] in counted(fleet)

    fleet.break_node("gpu-memory-held")
    assert fleet.fleetops("reset-gpus", "node-174", "--dry-run").status == 0


def test_an_open_breaker_refuses_a_further_node_before_anything_is_changed(fleet):
    fleet.break_node("gpu-memory-held", "node-190")
    store, now = BreakerStore(fleet.inventory.settings.state), time.time()
    for number in (1, 2, 3):
        store.end_badly(
            CountedRun(
                run_id=f"r{number}",
                node=f"n{number}",
                playbook="recover",
                began_at=now,
                status="failed",
                ended_at=now,
            ),
            now,
        )
    try:
        for command in ("recover", "reset-gpus"):
            ran = fleet.fleetops(command, "node-190", "--yes", "--json")
            assert (ran.status, ran.error["guard"]) == (5, "breaker"), ran
            assert "n[1-3]" in ran.error["message"]
        assert fleet.fleetops("kill", "node-190", "--dry-run").status == 0
        assert fleet.fleetops("breaker").status == 1
    finally:
        closed = fleet.fleetops("breaker", "reset", "--why", "the test is over")
    assert closed.status == 0
    assert fleet.fleetops("reset-gpus", "node-190", "--yes").status == 0


@pytest.fixture
def protecting(fleet, tmp_path) -> CommandLine:
    """The command line on the lab's inventory, with the hypervisor marked as protected."""
    folder = tmp_path / "protecting"
    shutil.copytree(fleet.lab.inventory, folder)
    fleet_file = folder / "fleet.yaml"
    text = fleet_file.read_text()
    assert text.count("  pve-01:\n") == 1
    fleet_file.write_text(text.replace("  pve-01:\n", "  pve-01:\n    protected: true\n"))
    return CommandLine(folder, tmp_path)


def as_it_is(fleet):
    used = [gpu.memory_used_bytes for gpu in fleet.look().node_facts.readings["gpus"].gpus]
    return fleet.process_table("node-174"), used


def test_a_guest_of_a_protected_host_is_left_alone_by_every_command_that_changes_something(fleet, protecting):
    fleet.break_node("gpu-memory-held")
    before, runs = as_it_is(fleet), fleet.fleetops("runs", "--json").json["runs"]
    for words in (
        ("kill",),
        ("reset-gpus",),
        ("recover", "--waive", "attempts=now"),
        ("launch", "--profile", "hicache48", "--waive", "proof=now", "--waive", "size=now"),
    ):
        ran = protecting(*words, "node-174", "--yes", "--json")
        assert (ran.status, ran.error["guard"]) == (5, "protected"), ran
        assert ran.error["message"] == "pve-01 is protected in the inventory"
    assert protecting("recover", "node-174", "--yes", "--waive", "protected=now").status == 2
    assert as_it_is(fleet) == before
    assert fleet.fleetops("runs", "--json").json["runs"] == runs
