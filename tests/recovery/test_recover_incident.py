"""The incident of node-174, whole: the trap is real, one command heals it, and nobody else is touched."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_lab import fresh_lab

from fleetops.lab.api import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A fleet as it was when the incident happened: its last launch is the one on record."""
    with fresh_lab(tmp_path_factory.mktemp("incident") / "lab") as running:
        yield running


@pytest.fixture
def bystanders(fleet):
    """Who must come out as they went in: a process on the node, a neighbour's service, a process of the machine."""
    own = subprocess.Popen(["sleep", "600"])
    before = bystander(fleet), neighbour(fleet)
    assert before[0]
    assert len(before[1]) > 2
    yield
    assert (bystander(fleet), neighbour(fleet)) == before
    assert own.poll() is None
    own.kill()
    own.wait()


def bystander(fleet):
    return {pid: one for pid, one in fleet.process_table("node-174").items() if "bystander" in one[1]}


def neighbour(fleet):
    return {pid: one for pid, one in fleet.process_table("node-175").items() if "sglang" in one[1]}


def test_one_command_heals_the_incident(fleet, bystanders):
    fleet.break_node("per-rank-trap")
    wedged = fleet.look()
    assert wedged.node_facts.readings["memory"].available_bytes < 15e9

    ran = fleet.fleetops("recover", "node-174", "--yes", "--json")

    assert ran.status == 0, ran.stderr
    result = ran.json
    assert result["status"] == "done"
    assert [row["name"] for row in result["reclaimed"] if not row["ok"]] == []
    launched = result["launched"]["capacity"]
    assert launched["device_tokens"] == 231120
    assert result["previous"]["capacity"]["device_tokens"] == 116171
    assert launched["host_tokens"] == 683061
    assert launched["host_pool_bytes"] == pytest.approx(8 * 48e9, rel=0.001)
    assert launched["tokens_per_s"] > 0
    assert fleet.generates() == 5
    served = fleet.look().services
    assert [len(service.ranks) for service in served] == [8]
    assert not any(rank.process.is_zombie for service in served for rank in service.ranks)
    resets = [change for change in fleet.changes(result) if "fleetops-reset-gpus" in change]
    assert [change[0] for change in resets] == ["pve-01"]


def test_the_evidence_of_the_incident_is_kept_before_the_first_signal(fleet):
    fleet.break_node("per-rank-trap")
    result = fleet.fleetops("recover", "node-174", "--yes", "--json", "--no-relaunch").json
    kept = {path.name: path.read_text(errors="replace") for path in Path(result["evidence"]).iterdir()}
    assert "Allocating" in kept["engine.log"]
    assert "defunct" in kept["processes.txt"]
    steps = [
        event["step"]
        for event in map(json.loads, kept["journal.jsonl"].splitlines())
        if event["event"] == "step"
    ]
    assert steps[0] == "keep-evidence"


def test_a_healthy_node_is_left_alone(fleet):
    if fleet.fleetops("recover", "node-174", "--yes").status != 0:
        pytest.fail("the node could not be brought into a healthy state")
    before = fleet.process_table("node-174")
    ran = fleet.fleetops("recover", "node-174", "--yes")
    assert ran.status == 0
    assert "nothing to do" in ran.stdout
    after = fleet.process_table("node-174")
    assert {pid: one for pid, one in after.items() if "sglang" in one[1]} == {
        pid: one for pid, one in before.items() if "sglang" in one[1]
    }
