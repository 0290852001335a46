"""Over real SSH, on the lab's nodes: the same proof as from the folder, folded, with what it comes to on each node."""

from pathlib import Path

import pytest
from command_line import CommandLine

from fleetops.lab.api import Lab

pytestmark = pytest.mark.lab


def test_the_nodes_give_the_folders_answer_once(lab: Lab, fleetops: CommandLine, tmp_path: Path) -> None:
    there = fleetops("explain", "--hicache-size", "--json", "--no-cache")
    assert there.status == 0, there.stderr
    (answer,) = there.json["answers"]
    assert there.json["schema"] == "fleetops.explain-nodes/1"
    assert {"node-174", "node-175"} <= set(answer["hosts"])
    assert (answer["verdict"], answer["unit"], answer["scope"]) == ("proven", "GB", "per-rank")
    size = next(one for one in answer["sizes"] if one["host"] == "node-174")
    assert (size["profile"], size["ranks"], size["asked"]) == ("hicache48", 8, 48)
    assert size["asked_bytes"] == 384 * 10**9

    folder = lab.folder / "share/engine/sglang"
    here = fleetops("explain", "hicache_size", "--source", str(folder), "--json", "--no-cache")
    assert here.status == 0, here.stderr
    shared = set(here.json)
    assert {name: answer[name] for name in shared} == here.json


def test_a_person_reads_what_the_number_comes_to(fleetops: CommandLine) -> None:
    told = fleetops("explain", "hicache_size", "node-174")
    assert told.status == 0
    first, *_, sentence, command = told.stdout.splitlines()
    assert first.startswith("hicache_size    GB per rank    proven")
    assert first.endswith("on node-174")
    assert sentence.startswith("  48 means 384 GB on this node (8 ranks, ")
    assert command == f"  {fleetops.typed('size', '--profile', 'hicache48', 'node-174')}"


def test_a_flag_that_is_not_there(fleetops: CommandLine) -> None:
    told = fleetops("explain", "hicache_sise", "node-174")
    assert told.status == 1
    assert "no such flag" in told.stdout
    assert "did you mean hicache_size" in told.stdout


def test_a_silent_node_is_named_and_costs_only_itself(lab: Lab, tmp_path: Path) -> None:
    for name in ("fleet.yaml", "profiles.yaml"):
        (tmp_path / name).write_text((lab.inventory / name).read_text())
    fleet = tmp_path / "fleet.yaml"
    text = fleet.read_text()
    node = "nodes:\n  node-199: {address: 127.0.0.1, port: 9, user: root}\n"
    fleet.write_text(text.replace("nodes:\n", node, 1))
    told = CommandLine(tmp_path, tmp_path)("explain", "hicache_size", "node-174", "node-199", "--json")
    assert told.status == 3
    (silent,) = told.json["unreachable"]
    assert (silent["host"], silent["reached"]) == ("node-199", False)
    assert [answer["hosts"] for answer in told.json["answers"]] == [["node-174"]]
