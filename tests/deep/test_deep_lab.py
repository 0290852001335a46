"""The deep lab itself: where its nodes are, what the operator reaches, and that nothing of it stays."""

import subprocess
from pathlib import Path

import pytest
from deep_files import NODE
from deep_lab import CGROUPS, deep_lab, why_not


def test_the_nodes_are_inside_the_callers_memory_cgroup(node, deep):
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    init = int(deep.on_host("lxc-info", "-n", str(NODE), "-p", "-H"))
    outside = next(
        pid
        for pid in descendants(deep.pid)
        if f"NSpid:\t{pid}\t{init}\t1\n" in Path(f"/proc/{pid}/status").read_text()
    )
    [theirs] = [
        line for line in Path(f"/proc/{outside}/cgroup").read_text().splitlines() if ":memory:" in line
    ]
    assert theirs.startswith(f"{own.rstrip('/')}/{deep.folder.name}/lxc/{NODE}")
    assert node.memory("memory.limit_in_bytes") == f"{512 << 20}\n"
    assert "MemTotal:         524288 kB" in node.sh("cat /proc/meminfo")


def descendants(pid):
    """All processes below one, as this machine counts them."""
    found = [
        int(each)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for each in (task / "children").read_text().split()
    ]
    return found + [each for one in found for each in descendants(one)]


def test_the_operator_reaches_the_labs_hosts_and_nothing_else(deep):
    routes = subprocess.run(
        [*deep.operator(), "ip", "route"], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[0] for line in routes.splitlines()] == ["10.99.0.0/24"]
    for each in ("n174", "n175"):
        assert deep.on_host("ip", "-n", each, "route").split()[0] == "10.99.0.0/24"


def test_facts_are_read_over_openssh(node):
    [host] = node.probe()["hosts"]
    assert node.findings() == {"service-absent"}
    assert host["host"] == "node-174"


def test_nothing_of_a_lab_stays_whatever_happened_in_it(tmp_path):
    if lacking := why_not():
        pytest.skip(lacking)
    before = machine()
    folder = tmp_path / "other-lab"
    folder.mkdir()
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in_a_lab(folder, before)
    assert machine() == before
    assert not list(CGROUPS.glob("**/other-lab"))


def fail_in_a_lab(folder, before):
    with deep_lab(folder) as lab:
        lab.fresh(NODE, 256 << 20)
        assert machine() != before
        raise RuntimeError("in the middle")


def machine():
    """This machine's links and mounts, and the cgroups beside this process's own."""
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    return links, mounts, sorted((CGROUPS / "memory" / own.split(":")[2].strip("/")).glob("other-lab"))
