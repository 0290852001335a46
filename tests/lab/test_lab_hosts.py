"""A host of the lab is a machine of its own: what happens inside stays inside, and nothing of ours is in there."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_access import Inside, Sh

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.control import HostDown, run_in
from fleetops.lab.fleet import FLEET, lab_host


def await_true(condition: Callable[[], bool], limit_s: float = 15.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.02)


@pytest.mark.parametrize("host", FLEET, ids=lambda host: host.name)
def test_every_host_is_itself(sh: Sh, host: api.LabHost) -> None:
    assert sh(host.name, "hostname") == host.name
    assert sh(host.name, "cat /etc/machine-id") == host.machine_id
    assert sh(host.name, "id -u; pwd").split() == ["0", "/"]
    assert (
        f"MemTotal: {host.total_bytes // 1024:>18}".split()
        == sh(host.name, "head -1 /proc/meminfo").split()[:2]
    )


@pytest.mark.parametrize("host", ["pve-01", "node-174", "node-190"])
def test_the_cpus_are_the_machines_own_and_nobodys_to_change(host: str, sh: Sh, inside: Inside) -> None:
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert sh(host, "cat /sys/devices/system/cpu/online") == online
    assert inside(host, "sh", "-c", "echo 0 > /sys/devices/system/cpu/cpu1/online").returncode != 0


def test_kill_minus_one_ends_everything_inside_and_nothing_outside(lab: Lab, inside: Inside, sh: Sh) -> None:
    sleeper = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "300")
    try:
        sh("node-190", "setsid sleep 301 >/dev/null 2>&1 & echo started")
        before = {host.name: host.running for host in api.status(lab.folder)}
        inside("node-190", "sh", "-c", "kill -9 -1")
        await_true(lambda: "301" not in sh("node-190", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
        assert {host.name: host.running for host in api.status(lab.folder)} == before
        assert os.waitpid(sleeper, os.WNOHANG) == (0, 0)
        assert sh("node-181", "echo alive") == "alive"
        assert sh("node-190", "echo alive") == "alive"
    finally:
        os.kill(sleeper, signal.SIGKILL)
        os.waitpid(sleeper, 0)


def test_the_users_files_do_not_exist_in_a_host(sh: Sh, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    for name in ("pve-01", "node-174", "node-190"):
        here = [tmp_path / "secret", Path(__file__), Path.home() / ".bashrc", Path("/etc/shadow")]
        assert sh(name, "ls -d " + " ".join(map(str, here)) + " 2>/dev/null || true") == ""


def test_what_is_written_inside_reaches_no_shared_file(inside: Inside) -> None:
    for place in ("/usr/fleetops-was-here", "/opt/fleetops-lab/lib/fleetops/lab/x", "/models/x"):
        done = inside("node-174", "sh", "-c", f": > {place}")
        assert "Read-only file system" in done.stderr


def test_the_machines_own_settings_cannot_be_changed(inside: Inside) -> None:
    before = Path("/proc/sys/vm/swappiness").read_text()
    done = inside("node-174", "sh", "-c", "echo 61 > /proc/sys/vm/swappiness")
    assert done.returncode != 0
    assert Path("/proc/sys/vm/swappiness").read_text() == before


def test_a_hypervisor_sees_its_containers_processes_under_its_own_pids(sh: Sh) -> None:
    sh("node-174", "setsid sleep 302 >/dev/null 2>&1 & echo started")
    inner = sh("node-174", "grep -la 302 /proc/[0-9]*/cmdline | head -1").split("/")[2]
    try:
        found = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q '^sleep 302' && grep NSpid $p/status; done"
        pids = sh("pve-01", f"{found}; true").split()
        assert pids[0] == "NSpid:"
        assert pids[-1] == inner
        assert pids[1] != inner
        assert "sleep 302" not in sh("node-175", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    finally:
        sh("node-174", f"kill {inner}")


def test_the_hypervisor_reads_the_containers_machine_id_through_its_root(sh: Sh) -> None:
    pid = sh("pve-01", "lxc-info -n 174 -p -H")
    assert sh("pve-01", f"cat /proc/{pid}/root/etc/machine-id") == lab_host("node-174").machine_id


def test_orphans_are_adopted_and_reaped_by_init(sh: Sh) -> None:
    pid = sh("node-190", "(sleep 0.1 & echo $!) ")
    await_true(lambda: sh("node-190", f"test -e /proc/{pid} || echo gone") == "gone")


def test_shared_memory_is_gone_from_what_is_available(sh: Sh) -> None:
    def figure(name: str, host: str = "node-174") -> int:
        return int(sh(host, f"grep ^{name}: /proc/meminfo").split()[1])

    before, above = figure("MemAvailable"), figure("MemAvailable", "pve-01")
    sh("node-174", "head -c 20000000 /dev/zero > /dev/shm/segment")
    try:
        await_true(lambda: figure("Shmem") >= 19000)
        assert figure("MemAvailable") <= before - 19000
        await_true(lambda: figure("MemAvailable", "pve-01") <= above - 19000)
        assert int(sh("node-174", "cat /sys/fs/cgroup/memory.current")) > 0
    finally:
        sh("node-174", "rm /dev/shm/segment")
    await_true(lambda: figure("Shmem") < 19000)


def test_only_its_own_gpus_are_in_a_container(sh: Sh) -> None:
    assert sh("node-174", "ls /dev | grep -c '^nvidia[0-9]'") == "8"
    assert sh("node-175", "ls /dev | grep '^nvidia[0-9]'").split() == ["nvidia8", "nvidia9"]
    assert sh("pve-01", "ls /dev | grep -c '^nvidia[0-9]'") == "10"
    assert sh("pve-01", "cat /proc/driver/nvidia/gpus/*/information | grep -c 'Device Minor'") == "10"


def test_the_bystander_counts_on(sh: Sh) -> None:
    first = int(sh("node-174", "cat /root/bystander.count"))
    await_true(lambda: int(sh("node-174", "cat /root/bystander.count") or 0) > first)


def test_packages_that_are_installed_meanwhile_break_no_restart(sh: Sh) -> None:
    """They replace these files; what is still mounted of the old ones could not be mounted on by a container's start."""
    for host in ("pve-01", "node-174"):
        assert sh(host, "grep -cE ' /etc/(ld.so.cache|localtime) ' /proc/mounts || true") == "0"
        assert sh(host, "test -s /etc/ld.so.cache && echo there") == "there"


def test_a_host_that_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "process.json").write_text('{"pid": 1, "start_ticks": 0}')
    with pytest.raises(HostDown, match="node-190"), contextlib.suppress(PermissionError):
        run_in(tmp_path, "node-190", ["true"])
