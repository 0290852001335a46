"""The deep lab itself: where its nodes are, what the operator reaches, and that nothing of it stays."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deep_files import NODE
from deep_lab import CGROUPS, PATIENCE_S, deep_lab, why_not

from fleetops.facts import identity
from fleetops.model.machine import TICKS_PER_S


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
    assert theirs.startswith(f"{own.rstrip('/')}/{deep.cgroup}/lxc/{NODE}")
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
    told = node.probe()
    assert [one["host"] for one in told["hosts"]] == [node.name]
    assert {one["check"] for one in told["findings"]} == {"service-absent"}


def test_a_processes_age_is_told_though_the_container_is_younger_than_its_kernel(node):
    """lxcfs's /proc/uptime begins with the container, the start times in /proc with the kernel's boot."""
    told = dict(line.split(" ", 1) for line in node.sh(identity.SCRIPT).splitlines())
    uptime_s = float(told["uptime"].split()[0])
    first = int(node.sh("cat /proc/1/stat").rpartition(")")[2].split()[19])
    assert int(told["ticks"]) / TICKS_PER_S - uptime_s > 10
    assert (int(told["ticks"]) - first) / TICKS_PER_S == pytest.approx(uptime_s, abs=3)


def test_what_is_missing_is_named(deep, tmp_path):
    lacking = why_not(str(tmp_path))
    assert lacking.startswith("the deep lab needs lxc-start, lxc-stop, lxc-info, lxcfs, sshd")
    assert "(Debian: lxc lxcfs openssh-server" in lacking


def test_nothing_of_a_lab_stays_whatever_happened_in_it(tmp_path):
    if lacking := why_not():
        pytest.skip(lacking)
    before = machine()
    folder = tmp_path / "other-lab"
    folder.mkdir()
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in_a_lab(folder, before)
    assert machine() == before
    assert not list(CGROUPS.glob("**/*-other-lab"))


def fail_in_a_lab(folder, before):
    with deep_lab(folder) as lab:
        lab.fresh(NODE, 256 << 20)
        assert machine() != before
        lab.on_host("lxc-freeze", "-n", str(NODE))  # what is frozen heeds not even SIGKILL
        raise RuntimeError("in the middle")


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path += sys.argv[2:]
from deep_lab import deep_lab
with deep_lab(Path(sys.argv[1])) as lab:
    print(lab.pid, lab.cgroup, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lab_ends_with_the_process_that_made_it(deep, tmp_path):
    """What that process can no longer remove, empty cgroups, the next lab removes."""
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]
    (tmp_path / "killed").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed"), *folders],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    _, cgroup = done.stdout.split()
    left = list(CGROUPS.glob(f"**/{cgroup}"))
    assert left
    until(lambda: not any((each / "cgroup.procs").read_text() for each in left))
    (tmp_path / "next").mkdir()
    with deep_lab(tmp_path / "next"):
        assert not any(each.exists() for each in left)


def until(is_true):
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def machine():
    """This machine's links and mounts, and the cgroups beside this process's own."""
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    return links, mounts, sorted((CGROUPS / "memory" / own.split(":")[2].strip("/")).glob("*-other-lab"))
