"""A node that stands for a VM: its emulator and its power are `qm`'s, its GPUs and their driver are its own."""

import signal

import pytest
from deep_cells import Cell
from deep_files import VM
from deep_node import changes

pytestmark = pytest.mark.timeout(300)
CONFIG = f"/etc/pve/qemu-server/{VM}.conf"
POWER = [["qm", "stop", str(VM)], ["qm", "start", str(VM)]]


def emulator(deep):
    return int(deep.on_host("cat", f"/run/qemu-server/{VM}.pid"))


def boot_id(vm):
    return vm.sh("cat /proc/sys/kernel/random/boot_id")


def powered(ran):
    """What `qm` was asked to do, in order."""
    return [change[-3:] for change in changes(ran.json) if change[0] == "pve-01" and change[-3] == "qm"]


def daemon(vm):
    """sshd's first process."""
    return int(vm.sh("cat /run/sshd.pid"))


def hold(deep):
    """Memory on the VM's GPUs that no process holds; its driver gives it back to no reset."""
    deep.on_host("touch", f"/run/deep/{VM}/held")


def test_a_dead_server_in_a_vm_is_its_own_kernels_business(vm, deep, cell):
    before = emulator(deep)
    vm.serve()
    vm.kill(*(one.pid for one in vm.ranks()))
    assert "ranks-dead" in cell.finds(vm.findings())
    ran = vm.heal()
    cell.ended(ran)
    assert ran.status == 0, ran.stderr
    assert vm.ranks() == []
    assert powered(ran) == []
    assert emulator(deep) == before
    cell.verified("no process; the hypervisor was asked for nothing")


@pytest.mark.matrix
def test_gpu_memory_of_a_vm_that_only_a_power_cycle_frees(vm, deep, cell):
    hold(deep)
    vm.sh("echo kept > /root/kept")
    before, booted = emulator(deep), boot_id(vm)
    assert "gpu-memory-held" in cell.finds(vm.findings())
    ran = vm.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    assert powered(ran) == POWER
    assert emulator(deep) != before
    assert boot_id(vm) != booted
    assert vm.sh("cat /root/kept") == "kept\n"
    cell.verified(
        "reset in the guest refused by its driver; qm stop, qm start; another boot id, the disk kept"
    )


@pytest.mark.matrix
def test_a_vm_that_a_backup_has_locked_is_not_stopped(vm, deep, cell):
    hold(deep)
    before = emulator(deep)
    deep.on_host("sh", "-c", f"echo 'lock: backup' >> {CONFIG}")
    try:
        cell.finds(vm.findings())
        ran = vm.heal("recover")
    finally:
        deep.on_host("sed", "-i", "/^lock: /d", CONFIG)
    cell.ended(ran)
    assert ran.status == 5
    assert ran.error["guard"] == "proxmox-lock"
    assert "backup" in ran.error["message"]
    assert_untouched(vm, deep, cell, before)


@pytest.mark.matrix
def test_a_vm_whose_lock_file_somebody_holds_is_not_stopped(vm, deep, cell):
    """Nobody can tell before: `qm stop` is asked for, waits ten seconds for the lock, and gives up."""
    hold(deep)
    before = emulator(deep)
    lock = f"/var/lock/qemu-server/lock-{VM}.conf"
    holder = deep.on_host("sh", "-c", f"flock {lock} sleep 300 > /dev/null 2>&1 & echo $!").strip()
    try:
        cell.finds(vm.findings())
        ran = vm.heal("recover")
    finally:
        deep.on_host("pkill", "-P", holder)
    cell.ended(ran)
    assert ran.status == 5
    assert ran.json["guard"] == "proxmox-lock"
    assert f"nothing is changed: can't lock file '{lock}' - got timeout" in ran.json["why"]
    assert_untouched(vm, deep, cell, before)


def assert_untouched(vm, deep, cell: Cell, before):
    assert emulator(deep) == before
    assert "held" in deep.on_host("ls", f"/run/deep/{VM}").split()
    assert vm.fleetops("run", vm.name, "--", "true").status == 0
    cell.verified("the emulator of before, the devices not reset, the node answers")


@pytest.mark.matrix
def test_an_sshd_that_takes_connections_and_says_nothing(vm, deep, cell):
    """The agent still tells whose machine it is; so the emulator is stopped and started."""
    before, booted = emulator(deep), boot_id(vm)
    vm.kill(daemon(vm), number=signal.SIGSTOP)
    assert "no-banner" in cell.finds(vm.findings())
    ran = vm.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert powered(ran) == POWER
    assert emulator(deep) != before
    assert boot_id(vm) != booted
    assert vm.fleetops("run", vm.name, "--", "true").status == 0
    cell.verified("identified by its agent; another emulator and boot id, it answers again")


@pytest.mark.matrix
def test_a_frozen_vm_whose_agent_is_as_silent_as_itself(vm, deep, cell):
    """Nothing proves whose machine it is: it is left alone, and goes on where it stood."""
    before = emulator(deep)
    deep.on_host("lxc-freeze", "-n", str(VM))
    assert "no-banner" in cell.finds(vm.findings())
    ran = vm.heal("recover")
    cell.ended(ran)
    deep.on_host("lxc-unfreeze", "-n", str(VM))
    assert ran.status == 3
    assert "no guest agent answers: QEMU guest agent is not running" in ran.error["message"]
    assert emulator(deep) == before
    assert vm.fleetops("run", vm.name, "--", "true").status == 0
    cell.verified("not identified, so not stopped; it answers once it is thawed")


@pytest.mark.matrix
def test_an_sshd_that_is_gone_shows_no_hang(vm, deep, cell):
    """The kernel refuses the connection: it is as well as ever, and a person may have stopped sshd."""
    before = emulator(deep)
    vm.kill(daemon(vm))
    cell.finds(vm.findings())
    ran = vm.heal("recover")
    cell.ended(ran)
    assert ran.status == 3
    assert "this silence does not show that it hangs" in ran.error["message"]
    assert emulator(deep) == before
    cell.verified("told, the emulator of before")


@pytest.mark.matrix
def test_an_emulator_that_hangs_is_ended_by_qms_own_signals(vm, deep, cell):
    """QMP gives no answer and SIGTERM does nothing: `qm stop` comes to SIGKILL, and only then is the machine off."""
    hold(deep)
    before, booted = emulator(deep), boot_id(vm)
    deep.on_host("kill", "-STOP", str(before))
    cell.finds(vm.findings())
    ran = vm.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert powered(ran) == POWER
    assert emulator(deep) != before
    assert boot_id(vm) != booted
    cell.verified("proven down after SIGKILL; another emulator and boot id")
