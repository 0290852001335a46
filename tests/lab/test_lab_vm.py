"""qm of the lab: a VM lives as long as its kvm process, with Proxmox's traps; the agent answers from inside."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_access import Client, Inside, Sh, await_banner, banner

from fleetops.lab.api import Lab
from fleetops.lab.driver import Driver
from fleetops.lab.paths import Layout
from fleetops.lab.trouble import Mark, put, remove_all

BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
AGENT_PID = "$(cat /proc/[0-9]*/stat | sed -n 's/^\\([0-9]*\\) (qemu-ga) .*/\\1/p')"


@pytest.fixture(autouse=True)
def up_again(lab: Lab, inside: Inside) -> Iterator[None]:
    """node-181 is up before each test, and after it."""
    await_banner(lab.ports["node-181"], "SSH")
    yield
    inside("pve-02", "qm", "start", "181")
    await_banner(lab.ports["node-181"], "SSH")


@pytest.fixture
def folder(lab: Lab) -> Iterator[Path]:
    """The VM's run folder, without marks afterwards."""
    folder = Layout(lab.folder).run("node-181")
    yield folder
    remove_all(folder)


def executed(inside: Inside, *argv: str) -> dict[str, Any]:
    done = inside("pve-02", "qm", "guest", "exec", "181", *argv)
    assert done.returncode == 0, done
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_stop_ends_kvm_and_everything_in_the_guest(lab: Lab, inside: Inside, sh: Sh, ssh: Client) -> None:
    client = ssh("node-181")
    sh("node-181", "setsid sleep 304 >/dev/null 2>&1 &")
    pid = sh("pve-02", "cat /run/qemu-server/181.pid")
    assert sh("pve-02", f"tr '\\0' ' ' < /proc/{pid}/cmdline").startswith("/usr/bin/kvm -id 181 ")
    assert sh("pve-02", f"cat /proc/{pid}/comm") == "kvm"
    stopped = inside("pve-02", "qm", "stop", "181")
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "")
    assert sh("pve-02", f"ls -d /proc/{pid} /run/qemu-server/181.pid 2>/dev/null || true") == ""
    assert sh("pve-02", "qm status 181") == "status: stopped"
    await_banner(lab.ports["node-181"], "refused")
    deadline = time.monotonic() + 10
    while client.get_transport().is_active():
        assert time.monotonic() < deadline, "a connection outlived its host"
        time.sleep(0.02)
    while any(is_running(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        assert time.monotonic() < deadline, "a process outlived its host"
        time.sleep(0.1)


def is_running(command_line: Path) -> bool:
    """Whether it is what the test started in the guest: nothing of it is left on this machine."""
    with contextlib.suppress(OSError):
        return command_line.read_bytes() == b"sleep\x00304\x00"
    return False


def test_a_start_is_a_new_boot_with_the_same_disk(lab: Lab, inside: Inside, sh: Sh) -> None:
    before = sh("node-181", BOOT_ID)
    sh("node-181", "echo kept > /root/kept; echo lost > /run/lost")
    sh("pve-02", "qm stop 181; qm start 181")
    await_banner(lab.ports["node-181"], "SSH")
    assert sh("node-181", BOOT_ID) != before
    assert sh("node-181", "cat /root/kept; ls /run/lost 2>/dev/null || true") == "kept"
    assert "0000:41:00.0 181 pid:" in sh("pve-02", "cat /run/qemu-server/pci-id-reservations")


def test_a_start_resets_what_is_passed_through(lab: Lab, folder: Path, sh: Sh) -> None:
    driver = Driver(folder / "driver")
    driver.ledger.leak(guest="host", comm="gone", host_bytes=10**9, gpu_mib={1: 5000}, until_stop=True)
    driver.set_state(0, lost=True)
    driver.set_faults(hangs=True)
    sh("pve-02", "qm stop 181; qm start 181")
    await_banner(lab.ports["node-181"], "SSH")
    assert sh("node-181", "nvidia-smi --query-gpu=memory.used --format=csv,noheader") == "4 MiB\n0 MiB"


def test_a_reset_of_the_vm_is_no_stop_and_start(lab: Lab, folder: Path, sh: Sh) -> None:
    driver = Driver(folder / "driver")
    driver.ledger.leak(guest="host", comm="gone", host_bytes=0, gpu_mib={1: 5000})
    before, pid = sh("node-181", BOOT_ID), sh("pve-02", "cat /run/qemu-server/181.pid")
    try:
        sh("pve-02", "qm reset 181")
        deadline = time.monotonic() + 10
        while (folder / "kernel/boot_id").read_text().strip() == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        await_banner(lab.ports["node-181"], "SSH")
        assert sh("pve-02", "cat /run/qemu-server/181.pid") == pid
        assert driver.ledger.totals().gpu_mib == {1: 5000}
    finally:
        driver.ledger.clear("host")


def test_a_reset_that_fails_at_the_start_is_only_a_warning(folder: Path, inside: Inside) -> None:
    driver = Driver(folder / "driver")
    driver.set_state(1, reset_fails=True)
    try:
        inside("pve-02", "qm", "stop", "181")
        done = inside("pve-02", "qm", "start", "181")
        assert done.returncode == 0
        assert done.stderr == (
            "failed to reset PCI device '0000:42:00.0', but trying to continue as not all devices need a reset\n"
        )
    finally:
        driver.set_state(1, reset_fails=False)


def test_what_the_tools_say_of_the_wrong_state(inside: Inside) -> None:
    running = inside("pve-02", "qm", "start", "181")
    assert (running.stderr, running.returncode != 0) == ("VM 181 already running\n", True)
    assert inside("pve-02", "qm", "stop", "181").returncode == 0
    again = inside("pve-02", "qm", "stop", "181")
    assert (again.stdout, again.stderr, again.returncode) == ("", "", 0), "silently fine"
    for command in ("reset", "shutdown"):
        done = inside("pve-02", "qm", command, "181")
        assert (done.stderr, done.returncode != 0) == ("VM 181 not running\n", True)
    gone = inside("pve-02", "qm", "guest", "exec", "181", "--", "true")
    assert (gone.stderr, gone.returncode != 0) == ("VM 181 is not running\n", True)


@pytest.mark.parametrize("agent", ["answers", "is gone"])
def test_a_shutdown_asks_the_agent_or_presses_the_button(sh: Sh, agent: str) -> None:
    if agent == "is gone":
        sh("node-181", f"kill {AGENT_PID}")
    sh("pve-02", "qm shutdown 181 --timeout 200")
    assert sh("pve-02", "qm status 181") == "status: stopped"


def test_a_guest_that_powers_itself_off_takes_its_kvm_along(lab: Lab, inside: Inside, sh: Sh) -> None:
    inside("node-181", "kill", "-TERM", "1")
    await_banner(lab.ports["node-181"], "refused")
    sh("pve-02", "while [ -e /run/qemu-server/181.pid ]; do sleep 0.02; done")
    assert sh("pve-02", "qm status 181") == "status: stopped"


def test_a_kvm_that_is_killed_takes_its_guest_along(lab: Lab, sh: Sh) -> None:
    sh("pve-02", "kill -9 $(cat /run/qemu-server/181.pid)")
    await_banner(lab.ports["node-181"], "refused")


def test_a_stop_that_lies_leaves_kvm_and_the_devices_busy(
    lab: Lab, folder: Path, inside: Inside, sh: Sh
) -> None:
    pid = sh("pve-02", "cat /run/qemu-server/181.pid")
    put(folder, Mark.STOP_LIES)
    done = inside("pve-02", "qm", "stop", "181")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "VM still running - terminating now with SIGTERM",
        "VM still running - terminating now with SIGKILL",
    ]
    assert sh("pve-02", "qm status 181") == "status: stopped", "the pid file is gone"
    assert sh("pve-02", f"grep ^State: /proc/{pid}/status").split()[1] == "D"
    assert banner(lab.ports["node-181"]) == "refused"
    start = inside("pve-02", "qm", "start", "181")
    assert start.returncode != 0
    assert start.stderr.splitlines()[0].endswith("Device or resource busy")
    sh("pve-02", f"kill -9 {pid}; while [ -e /proc/{pid} ]; do sleep 0.02; done")


def test_a_hypervisors_memory_comes_back_with_a_stop(sh: Sh) -> None:
    before = int(sh("pve-02", "grep ^MemAvailable: /proc/meminfo").split()[1])
    sh("pve-02", "qm stop 181")
    sh(
        "pve-02",
        f"until [ $(awk '/^MemAvailable:/ {{print $2}}' /proc/meminfo) -gt {before} ]; do sleep 0.02; done",
    )
    after = int(sh("pve-02", "grep ^MemAvailable: /proc/meminfo").split()[1])
    assert after - before == 128 * 10**9 // 1024


def test_a_failed_command_in_the_guest_is_a_success_of_exec(inside: Inside) -> None:
    done = inside("pve-02", "qm", "guest", "exec", "181", "--", "sh", "-c", "hostname; echo no >&2; exit 3")
    assert done.returncode == 0
    assert done.stdout == (
        '{\n   "err-data" : "no\\n",\n   "exitcode" : 3,\n   "exited" : 1,\n   "out-data" : "node-181\\n"\n}\n'
    )


def test_a_slow_command_is_a_bare_pid_and_its_end_is_asked_for(inside: Inside, sh: Sh) -> None:
    done = inside(
        "pve-02", "qm", "guest", "exec", "181", "--timeout", "1", "--", "sh", "-c", "sleep 1.2; echo late"
    )
    assert (done.returncode, done.stderr) == (0, "timeout reached, returning pid\n")
    pid = str(json.loads(done.stdout)["pid"])
    deadline = time.monotonic() + 10
    while not (told := json.loads(sh("pve-02", f"qm guest exec-status 181 {pid}")))["exited"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert told == {"exited": 1, "exitcode": 0, "out-data": "late\n"}
    forgotten = inside("pve-02", "qm", "guest", "exec-status", "181", pid)
    assert (forgotten.stderr, forgotten.returncode != 0) == ("Agent error: Invalid parameter 'pid'\n", True)


def test_input_is_passed_on_and_a_signal_told(inside: Inside) -> None:
    done = inside("pve-02", "qm", "guest", "exec", "181", "--pass-stdin", "1", "--", "cat", stdin="hello")
    assert json.loads(done.stdout)["out-data"] == "hello"
    assert executed(inside, "--", "sh", "-c", "kill -9 $$") == {"exited": 1, "signal": 9}


def test_what_the_agents_absence_looks_like(inside: Inside, sh: Sh) -> None:
    assert inside("pve-02", "qm", "agent", "181", "ping").returncode == 0
    sh("pve-02", "sed -i '/^agent:/d' /etc/pve/qemu-server/181.conf")
    unset = inside("pve-02", "qm", "agent", "181", "ping")
    sh("pve-02", "echo 'agent: 1' >> /etc/pve/qemu-server/181.conf")
    assert (unset.stderr, unset.returncode != 0) == ("No QEMU guest agent configured\n", True)
    sh("node-181", f"kill {AGENT_PID}")
    silent = inside("pve-02", "qm", "agent", "181", "ping")
    assert (silent.stderr, silent.returncode != 0) == ("QEMU guest agent is not running\n", True)
    sh("pve-02", "qm stop 181")


def test_pending_values_of_a_vm(sh: Sh) -> None:
    file = "/etc/pve/qemu-server/181.conf"
    before = sh("pve-02", f"cat {file}")
    sh("pve-02", f"printf '\\n[PENDING]\\ndelete: balloon\\nmemory: 65536\\n' >> {file}")
    try:
        told = sh("pve-02", "qm pending 181").splitlines()
        assert {"cur memory: 122070", "new memory: 65536", "del balloon: 0", "cur agent: 1"} <= set(told)
        assert "memory: 65536" in sh("pve-02", "qm config 181")
        assert "memory: 122070" in sh("pve-02", "qm config 181 --current 1")
    finally:
        sh("pve-02", f"cat > {file} <<'END'\n{before}\nEND")
