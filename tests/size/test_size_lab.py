"""size on the lab's nodes: the source is proven, the model read, and the memory counted there."""

import pytest
from command_line import CommandLine

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.breakages.base import BrokenNode

pytestmark = pytest.mark.lab


def test_the_incidents_profile_does_not_fit_and_the_node_itself_shows_why(
    lab: Lab, fleetops: CommandLine
) -> None:
    BrokenNode(lab.folder, "node-174").clear()
    sized = fleetops("size", "--profile", "hicache300", "node-174", "--json")
    assert sized.status == 5, sized.stderr
    body = sized.json
    wanted = {
        "host": "node-174", "profile": "hicache300", "ranks": 8, "unit": "GB", "scope": "per-rank", "fits": 48,
        "asked": 300, "asked_total_bytes": 2400 * 10**9, "verdict": "does-not-fit", "bytes_per_token": 70272,
        "next": fleetops.typed("size", "--profile", "hicache300", "--set", "hicache_size=48", "node-174"),
    }  # fmt: skip
    assert {key: body[key] for key in wanted} == wanted
    assert body["proof"].startswith("proven: srt/mem_cache/memory_pool_host.py:")
    assert {"MemAvailable of node-174", "MemAvailable of pve-01"} <= {line["label"] for line in body["lines"]}


def test_without_nodes_it_is_those_that_name_the_profile(fleetops: CommandLine) -> None:
    sized = fleetops("size", "--profile", "hicache48")
    assert sized.status == 0, sized.stderr
    lines = sized.stdout.splitlines()
    assert "SGLang 0.5.9 on node-174, profile hicache48" in lines[0]
    assert "8 x 48 GB = 384 GB of 445 GB available; it fits" in lines[-2]
    assert lines[-1] == f"  {fleetops.typed('launch', '--profile', 'hicache48', 'node-174')}"


def test_a_node_on_which_the_service_has_wedged_is_sized_as_it_will_be_when_clean(
    lab: Lab, fleetops: CommandLine
) -> None:
    api.break_node(lab.folder, "node-174", "per-rank-trap")
    sized = fleetops("size", "node-174", "--json")
    assert (sized.status, sized.json["fits"]) == (0, 48), sized.stdout
    assert "MemAvailable of node-174 when idle" in [line["label"] for line in sized.json["lines"]]


def test_several_nodes_are_one_answer_and_the_worst_counts(lab: Lab, fleetops: CommandLine) -> None:
    BrokenNode(lab.folder, "node-174").clear()
    sized = fleetops("size", "--profile", "hicache48", "node-174", "node-181", "--json")
    assert (sized.status, sized.json["schema"]) == (5, "fleetops.sizes/1")
    assert [(one["host"], one["verdict"]) for one in sized.json["sizes"]] == [
        ("node-174", "fits"),
        ("node-181", "does-not-fit"),
    ]
