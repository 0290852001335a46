"""On the lab's nodes: the incident's launch never starts, and a recovery whose relaunch is refused leaves the node clean."""

import shutil

import pytest
from command_line import CommandLine

from fleetops.lab.breakages.base import BrokenNode

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

ARITHMETIC = "int(host_size * 1e9 // self.size_per_token)"


@pytest.fixture
def clean_node(fleet):
    BrokenNode(fleet.lab.folder, "node-174").clear()
    return fleet


@pytest.fixture
def believing(clean_node, tmp_path):
    """The lab's inventory with a profile that says 300 GB in all, as the incident's operator believed."""
    folder = tmp_path / "inventory"
    shutil.copytree(clean_node.lab.inventory, folder)
    profiles = folder / "profiles.yaml"
    text = profiles.read_text()
    stated = "hicache-size: {value: 300, unit: GB, scope: per-rank}"
    assert stated in text
    profiles.write_text(text.replace(stated, stated.replace("per-rank", "total")))
    return CommandLine(folder, tmp_path)


def test_the_incidents_size_is_refused_with_the_proof_before_anything_starts(clean_node):
    before = clean_node.process_table("node-174")
    ran = clean_node.fleetops("launch", "--profile", "hicache300", "node-174", "--yes")
    assert ran.status == 5
    assert "hicache_size is GB per rank, proven from SGLang 0.5.9" in ran.stderr
    assert ARITHMETIC in ran.stderr
    assert "2,400 GB" in ran.stderr
    assert "48 fits" in ran.stderr
    assert "set hicache-size to 48" in ran.stderr
    assert clean_node.process_table("node-174") == before


def test_a_dry_run_that_would_be_refused_shows_why_and_no_script_before_it(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache300", "node-174", "--dry-run")
    assert ran.status == 5
    assert "would be refused: it does not fit: 2,011 GB too much; 48 fits" in ran.stdout
    assert "fleetops-start" not in ran.stdout
    assert len(ran.stdout.splitlines()) < 20
    assert ARITHMETIC in ran.stderr


def test_a_refused_launch_has_its_proof_and_its_arithmetic_as_data(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache300", "node-174", "--yes", "--json")
    assert ran.status == 5
    body = ran.json
    assert (body["schema"], body["status"], body["guard"]) == ("fleetops.launch/1", "refused", "size")
    assert body["proofs"]["hicache_size"]["proof"][0]["file"] == "srt/server_args.py"
    assert body["size"]["flags"]["hicache_size"]["fits"] == 48
    assert '"schema": "fleetops.error/1"' in ran.stderr


def test_a_belief_in_a_total_is_refused_beside_what_the_source_says(believing, clean_node):
    ran = believing("launch", "--profile", "hicache300", "node-174", "--yes")
    assert ran.status == 5
    assert "profile hicache300 says GB total" in ran.stderr
    assert "SGLang 0.5.9 on node-174 says GB per rank" in ran.stderr
    assert ARITHMETIC in ran.stderr
    assert clean_node.look().services == ()


def test_a_dry_run_shows_the_proof(clean_node):
    shown = clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--dry-run")
    assert shown.status == 0, shown.stderr
    assert "hicache_size: GB per rank, proven" in shown.stdout
    assert ARITHMETIC in shown.stdout
    plan = clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--dry-run", "--json").json
    assert plan["next"] == clean_node.fleetops.typed("launch", "--profile", "hicache48", "node-174")
    proof = plan["proofs"]["hicache_size"]
    assert (proof["verdict"], proof["unit"], proof["scope"]) == ("proven", "GB", "per-rank")
    assert [step["step"] for step in plan["steps"]][:2] == ["prove", "size"]


def test_a_recovery_whose_relaunch_is_refused_leaves_the_node_clean_with_the_command_to_type(fleet):
    fleet.break_node("zombies")
    ran = fleet.fleetops("recover", "node-174", "--profile", "hicache300", "--yes", "--json")
    assert ran.status == 5, ran
    result = ran.json
    assert (result["status"], result["guard"]) == ("refused", "size")
    assert all(row["ok"] for row in result["reclaimed"])
    assert ARITHMETIC in result["why"]
    assert "48 fits" in result["why"]
    assert fleet.fleetops.typed("launch", "--profile", "hicache300", "node-174") in result["hint"]
    after = fleet.look()
    assert after.services == ()
    assert after.node_facts.readings["memory"].available_bytes > 440e9
