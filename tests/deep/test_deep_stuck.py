"""A process that SIGKILL cannot end: it waits in the kernel for a FUSE server that does not answer."""

import pytest
from deep_files import NODE
from deep_node import changes

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def stuck(node):
    """The dead server's second rank in D, its SIGKILL queued; the pid of the FUSE server that could let it go."""
    node.sh("mkdir /mnt/stuck")
    node.start("python3 /opt/sglang/fuse_silent.py /mnt/stuck", "mounted")
    [silent] = [one.pid for one in node.processes()]
    node.serve(DEEP_FAULT="stuck")
    first, second = (one.pid for one in node.ranks())
    node.kill(first, second, node.launcher())
    node.until(lambda: [(one.pid, one.state) for one in node.ranks()] == [(second, "D")])
    return silent


def test_a_reset_is_refused_while_it_holds_the_gpu(node, deep, cell, stuck):
    deep.on_host("touch", "/run/deep/held")
    assert "ranks-in-d-state" in cell.finds(node.findings())
    ran = node.fleetops("reset-gpus", node.name, "--yes", "--json")
    cell.ended(ran)
    assert ran.status == 5
    [rank] = node.ranks()
    assert ran.error["guard"] == "holders"
    assert f"process {rank.pid} in D state (SIGKILL is queued) holds /dev/nvidia0" in ran.error["message"]
    assert "resets" not in deep.on_host("ls", "/run/deep").split()
    cell.verified("the rank in D named, the GPUs not reset")


def test_it_is_waited_for_and_that_is_said(node, cell, stuck):
    cell.finds(node.findings())
    recovering = node.fleetops.start("recover", node.name, "--yes", "--no-relaunch")
    said = next((line for line in recovering.stderr if "waiting" in line), "nothing")
    assert "waiting: service processes 1 (idle 0), GPU file holders 1 (idle 0)" in said
    assert [one.state for one in node.ranks()] == ["D"]
    node.kill(stuck)
    shown, _ = recovering.communicate(timeout=60)
    assert recovering.returncode == 0, shown
    assert "SIGKILL is queued until the kernel call returns" in shown
    assert node.ranks() == []
    cell.by("rung 1")
    cell.verified("it waits and says so, and ends well once the FUSE server is let go")


@pytest.mark.matrix
def test_what_no_signal_ends_goes_with_its_container(node, deep, cell, stuck):
    """Rung 1 waits its two minutes; rung 4 stops the container, and with it the FUSE server that everybody waits for."""
    deep.on_host("touch", "/run/deep/held")
    before = deep.init_of(NODE)
    cell.finds(node.findings())
    ran = node.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    assert deep.init_of(NODE) != before
    assert [change[-3:] for change in changes(ran.json) if change[-3] == "pct"] == [
        ["pct", "stop", str(NODE)],
        ["pct", "start", str(NODE)],
    ]
    cell.verified("reset skipped while it held the GPU; everything back with the container's restart")
