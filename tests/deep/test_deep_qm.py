"""The deep lab's `qm`: the forms, exit codes and locks of qemu-server's, as facts and steps count on them."""

import json

import pytest
from deep_files import PASSED_THROUGH, VM


@pytest.fixture
def qm(vm, deep):
    """What `qm` prints, errors included, and its exit status at the end."""
    return lambda *words: deep.on_host("sh", "-c", 'qm "$@" 2>&1; echo "exit $?"', "sh", *map(str, words))


def test_a_vm_that_runs(qm, deep):
    head, row, end = qm("list").splitlines()
    assert head == "      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID       "
    pid = deep.on_host("cat", f"/run/qemu-server/{VM}.pid").strip()
    assert row.split() == ["181", "node-181", "running", "512", "32.00", pid]
    assert end == "exit 0"
    assert qm("status", VM) == "status: running\nexit 0\n"
    assert qm("start", VM) == "VM 181 already running\nexit 255\n"
    missing = "Configuration file 'nodes/pve-01/qemu-server/999.conf' does not exist"
    assert qm("status", 999) == f"{missing}\nexit 2\n"
    reserved = deep.on_host("cat", "/run/qemu-server/pci-id-reservations").splitlines()
    assert reserved == [f"{device} {VM} pid:{pid}" for device in PASSED_THROUGH]


def test_a_command_that_fails_in_the_guest_is_a_success_of_qm(qm):
    told, _, end = qm("guest", "exec", VM, "--", "sh", "-c", "echo seen; exit 3").rpartition("exit ")
    assert end == "0\n"
    assert json.loads(told) == {"exited": 1, "exitcode": 3, "out-data": "seen\n"}
    late = qm("guest", "exec", VM, "--timeout", "0.2", "--", "sleep", "60")
    assert late.startswith('timeout reached, returning pid\n{\n   "pid" : ')
    assert late.endswith("exit 0\n")


def test_a_vm_that_is_off(qm, deep):
    deep.on_host("qm", "stop", str(VM))
    assert qm("stop", VM) == "exit 0\n"
    assert qm("status", VM) == "status: stopped\nexit 0\n"
    assert qm("guest", "exec", VM, "--", "true") == "VM 181 is not running\nexit 255\n"
    assert deep.on_host("lxc-info", "-n", str(VM), "-s", "-H").strip() == "STOPPED"


def test_the_machine_ends_with_its_emulator_whatever_ends_that(qm, deep):
    first = deep.init_of(VM)
    deep.on_host("kill", "-KILL", deep.on_host("cat", f"/run/qemu-server/{VM}.pid").strip())
    gone = f"for _ in $(seq 100); do kill -0 {first} 2> /dev/null || exit 0; sleep 0.05; done; exit 1"
    deep.on_host("sh", "-c", gone)
    assert qm("status", VM) == "status: stopped\nexit 0\n"
    assert qm("start", VM) == "exit 0\n"
    deep.await_ssh(f"10.99.0.{VM}")
