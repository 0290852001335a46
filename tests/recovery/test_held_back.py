"""What holds a change back that the node itself would allow: attempts, the fleet's breaker, a protected host."""

import json
import os
import pty
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLine, Ran, clean_environment

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory
from fleetops.lab.breakages.host_faults import mark
from fleetops.lab.fleet import lab_host
from fleetops.lab.trouble import Mark
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


def answered(command: CommandLine, *words: str, meanwhile: Callable[[], None]) -> Ran:
    """A command that asks on its terminal; something happens while the operator reads, who then agrees."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command.argv(*words),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=command.cwd,
        env=clean_environment(),
    )
    os.close(theirs)
    asked = ""
    while not asked.endswith("[y/N] "):
        read = running.stderr.read(1)
        assert read, asked
        asked += read
    meanwhile()
    os.write(ours, b"y\n")
    out, err = running.communicate(timeout=120)
    os.close(ours)
    return Ran(running.returncode, out, err)


def test_a_backup_that_begins_while_the_operator_reads_the_plan_refuses_the_change(fleet):
    node = BrokenNode(fleet.lab.folder, "node-175")
    fleet.break_node("gpu-memory-held", "node-175")
    before = fleet.process_table("node-175")
    try:
        ran = answered(fleet.fleetops, "reset-gpus", "node-175", meanwhile=lambda: node.backup("start"))
        assert ran.status == 5, ran
        assert "guest 175 is locked by Proxmox (backup) on pve-01; running: vzdump" in ran.stdout
        assert "wait for vzdump of root@pam to end" in ran.stdout
        run = fleet.fleetops("runs", "--json").json["runs"][0]
        assert (run["playbook"], run["status"]) == ("reset-gpus", "refused")
        story = fleet.fleetops("runs", "show", run["run_id"], "--json").json
        assert not [step for step in story["steps"] if step["changes"]]
        assert fleet.process_table("node-175") == before
        assert run["run_id"] not in fleet.run(
            "pve-01", "sh", "-c", "cat /run/fleetops/attempts/* 2>/dev/null; true"
        )
    finally:
        node.backup("end")


@pytest.mark.long
def test_another_machine_that_answers_after_a_restart_is_left_alone(fleet):
    node, before = BrokenNode(fleet.lab.folder, "node-181"), fleet.process_table("node-190")
    fleet.break_node("no-banner", "node-181")
    mark(node, Mark.IMPOSTOR, "node-190")
    try:
        ran = fleet.fleetops("recover", "node-181", "--yes", "--json", timeout=400)
    finally:
        node.clear()
    assert ran.status == 4, ran
    ours, theirs = lab_host("node-181").machine_id, lab_host("node-190").machine_id
    assert (
        f"another machine answers as node-181 after its start: its machine-id is {theirs}, it was {ours}"
        in ran.json["why"]
    )
    assert "fleetops run" in ran.json["hint"]
    assert fleet.process_table("node-190") == before
    assert (
        fleet.run("node-190", "sh", "-c", "ls /run/fleetops/locks /run/fleetops/claims 2>/dev/null; true")
        == ""
    )
