"""Rung 4 on a real container: stopped through `pct`, its GPUs reset on the host, started, and the same node back."""

import pytest
from deep_files import NODE
from deep_node import changes

pytestmark = pytest.mark.timeout(180)


def test_gpu_memory_that_only_a_restart_frees(node, deep):
    """The GPU is a stand-in's; the container, its stop and its start are real."""
    deep.on_host("touch", "/run/deep/held")
    node.sh("echo kept > /root/kept; mkdir -p /run/fleetops")
    before = deep.init_of(NODE)
    ran = node.heal("recover")
    assert ran.status == 0, ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    done = [change for change in changes(ran.json) if change[0] == "pve-01"]
    resets = ["fleetops-reset-gpus" in change for change in done]
    assert resets == [True, False, True, False]
    assert [change[-3:] for change in done[1::2]] == [["pct", "stop", str(NODE)], ["pct", "start", str(NODE)]]
    assert deep.init_of(NODE) != before
    assert node.sh("cat /root/kept") == "kept\n"
