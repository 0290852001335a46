"""probe against real processes: the lab's node, broken as in the incident and in smaller ways."""

import pytest
from command_line import CommandLine

from fleetops.lab import api
from fleetops.lab.api import Lab

pytestmark = pytest.mark.lab


def test_the_incident_is_seen_for_what_it_is(lab: Lab, fleetops: CommandLine) -> None:
    api.break_node(lab.folder, "node-174", "per-rank-trap")
    seen = fleetops("probe", "node-174", "--json")
    (host,) = seen.json["hosts"]
    ranks, memory, gpus = (host["summary"][part] for part in ("ranks", "memory", "gpus"))
    assert seen.status == 1
    assert host["verdict"] == "wedged"
    assert [len(ranks[kind]) for kind in ("zombies", "ghosts", "stuck", "live")] == [5, 2, 1, 0]
    assert [parent["cmdline"][1:3] for parent in ranks["negligent"]] == [["-m", "sglang.launch_server"]]
    assert memory["available_bytes"] < 10 * 10**9
    assert memory["unexplained_bytes"] > 400 * 10**9
    assert gpus["held_bytes"] > 700 * 2**30
    assert {holder["kind"] for holder in gpus["holders"]} == {"zombie leader", "rank in D"}
    assert {finding["check"] for finding in seen.json["findings"]} >= {
        "ranks-dead",
        "ghost-leaders",
        "memory-low",
    }


def test_the_screen_names_the_flag_and_the_next_command(lab: Lab, fleetops: CommandLine) -> None:
    api.break_node(lab.folder, "node-174", "per-rank-trap")
    lines = fleetops("probe", "node-174").stdout.splitlines()
    assert lines[0].startswith("node-174   SGLang")
    assert ", wedged " in lines[0]
    assert "guest 174 (lxc) on pve-01, running" in lines[0]
    assert any("hicache-size 300 (profile: 48)" in line for line in lines)
    assert lines[-1] == f"  {fleetops.typed('recover', 'node-174', '--dry-run')}"


def test_gpu_memory_that_only_a_reset_frees(lab: Lab, fleetops: CommandLine) -> None:
    api.break_node(lab.folder, "node-174", "gpu-memory-held")
    (host,) = fleetops("probe", "node-174", "--json").json["hosts"]
    gpus = host["summary"]["gpus"]
    assert host["verdict"] == "not clean"
    assert gpus["ownerless"] == gpus["holding"] != []
    assert gpus["holders"] == []


def test_what_the_hypervisor_sees(lab: Lab, fleetops: CommandLine) -> None:
    api.break_node(lab.folder, "node-174", "guest-locked")
    shown = fleetops("probe", "node-174").stdout
    assert "guest locked: backup, vzdump running" in shown


def test_the_whole_fleet_at_once_in_the_order_of_the_inventory(fleetops: CommandLine) -> None:
    seen = fleetops("probe", "--json")
    assert [host["host"] for host in seen.json["hosts"]] == ["node-174", "node-175", "node-181", "node-190"]
    assert {host["engine"]["engine"] for host in seen.json["hosts"]} == {"sglang"}
