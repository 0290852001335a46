"""pct, qm, pvesh and lxc-info of the lab: Proxmox's texts and statuses, acting on the lab's real containers."""

import json
import time
from collections.abc import Iterator

import pytest
from lab_access import Client, Inside, Sh, await_banner

from fleetops.lab.api import Lab


@pytest.fixture
def stopped(lab: Lab, inside: Inside) -> Iterator[None]:
    """node-175 stopped; started again afterwards."""
    assert inside("pve-01", "pct", "stop", "175").returncode == 0
    yield
    inside("pve-01", "pct", "start", "175")
    await_banner(lab.ports["node-175"], "SSH")


def test_lists_have_fixed_columns(sh: Sh) -> None:
    assert sh("pve-01", "pct list").splitlines() == [
        "VMID       Status     Lock         Name                ",
        "174        running                 node-174            ",
        "175        running                 node-175",  # the last line's blanks went with its newline
    ]
    head, vm = sh("pve-02", "qm list").splitlines()
    assert head.split() == ["VMID", "NAME", "STATUS", "MEM(MB)", "BOOTDISK(GB)", "PID"]
    assert vm.split()[:3] == ["181", "node-181", "running"]


def test_nothing_is_listed_where_there_is_nothing(sh: Sh) -> None:
    assert sh("pve-02", "pct list") == ""
    assert sh("pve-01", "qm list") == ""


def test_a_guest_that_does_not_exist(inside: Inside) -> None:
    done = inside("pve-01", "pct", "status", "999")
    assert done.stderr == "Configuration file 'nodes/pve-01/lxc/999.conf' does not exist\n"
    assert done.returncode != 0


def test_the_configuration_names_the_gpus_as_devices(sh: Sh) -> None:
    lines = sh("pve-01", "pct config 174 --current 1").splitlines()
    assert lines == sorted(lines)
    assert {"dev0: /dev/nvidia0", "dev7: /dev/nvidia7", "hostname: node-174", "onboot: 1"} <= set(lines)


def test_exec_runs_inside_and_its_status_is_the_commands(inside: Inside) -> None:
    done = inside("pve-01", "pct", "exec", "174", "--", "sh", "-c", "hostname; exit 3")
    assert (done.stdout, done.returncode) == ("node-174\n", 3)


def test_starting_what_runs_and_what_a_stop_says_twice(inside: Inside, stopped: None) -> None:
    again = inside("pve-01", "pct", "stop", "175")
    assert (again.stderr, again.returncode != 0) == ("CT 175 not running\n", True)
    running = inside("pve-01", "pct", "start", "174")
    assert (running.stderr, running.returncode != 0) == ("CT 174 already running\n", True)
    gone = inside("pve-01", "pct", "exec", "175", "--", "true")
    assert gone.stderr == "container '175' not running!\n"


def test_a_stopped_containers_port_refuses(lab: Lab, sh: Sh, stopped: None) -> None:
    assert sh("pve-01", "pct status 175") == "status: stopped"
    await_banner(lab.ports["node-175"], "refused")


def test_a_container_comes_back_with_its_files_and_without_its_processes(
    inside: Inside, ssh: Client, sh: Sh
) -> None:
    sh("node-175", "echo kept > /root/kept; echo lost > /run/lost; echo lost > /tmp/lost")
    client = ssh("node-175")
    before = sh("pve-01", "lxc-info -n 175 -p -H")
    assert inside("pve-01", "pct", "stop", "175").returncode == 0
    assert sh("pve-01", f"ls -d /proc/{before} 2>/dev/null || echo gone") == "gone"
    deadline = time.monotonic() + 10
    while client.get_transport().is_active():
        assert time.monotonic() < deadline, "a connection outlived its host"
        time.sleep(0.02)
    assert inside("pve-01", "pct", "start", "175").returncode == 0
    _, output, _ = ssh("node-175").exec_command("cat /root/kept; ls /run/lost /tmp/lost 2>/dev/null")
    assert output.read() == b"kept\n"


def test_a_shutdown_asks_first(sh: Sh, inside: Inside) -> None:
    try:
        assert inside("pve-01", "pct", "shutdown", "175", "--timeout", "15").returncode == 0
        assert sh("pve-01", "pct status 175") == "status: stopped"
    finally:
        inside("pve-01", "pct", "start", "175")


def test_a_locked_container_is_not_touched(inside: Inside, sh: Sh) -> None:
    sh("pve-01", "echo 'lock: backup' >> /etc/pve/lxc/175.conf")
    try:
        assert "175        running    backup       node-175" in sh("pve-01", "pct list")
        for command in ("stop", "shutdown"):
            done = inside("pve-01", "pct", command, "175")
            assert (done.stderr, done.returncode != 0) == ("CT is locked (backup)\n", True)
        assert sh("pve-01", "pct status 175") == "status: running"
    finally:
        sh("pve-01", "sed -i '/^lock:/d' /etc/pve/lxc/175.conf")


def test_pending_changes_are_told_and_a_start_applies_them(sh: Sh, inside: Inside) -> None:
    file = "/etc/pve/lxc/175.conf"
    before = sh("pve-01", f"cat {file}")
    sh("pve-01", f"printf '\\n[pve:pending]\\ndelete: onboot\\nmemory: 32768\\n' >> {file}")
    try:
        told = sh("pve-01", "pct pending 175").splitlines()
        assert {"cur memory: 61035", "new memory: 32768", "del onboot: 1", "cur swap: 0"} <= set(told)
        assert "memory: 32768" in sh("pve-01", "pct config 175")
        assert "memory: 61035" in sh("pve-01", "pct config 175 --current 1")
        inside("pve-01", "pct", "stop", "175")
        inside("pve-01", "pct", "start", "175")
        now = sh("pve-01", "pct config 175 --current 1")
        assert "memory: 32768" in now
        assert "onboot" not in now
    finally:
        sh("pve-01", f"cat > {file} <<'END'\n{before}\nEND")


def test_the_api_tells_guests_and_tasks(sh: Sh, inside: Inside, stopped: None) -> None:
    found = json.loads(sh("pve-01", "pvesh get /cluster/resources --type vm --output-format json"))
    assert {each["id"]: each["status"] for each in found} == {"lxc/174": "running", "lxc/175": "stopped"}
    tasks = json.loads(sh("pve-01", "pvesh get /nodes/localhost/tasks --source archive --output-format json"))
    newest = tasks[0]
    assert (newest["type"], newest["id"], newest["status"]) == ("vzstop", "175", "OK")
    current = json.loads(sh("pve-01", "pvesh get /nodes/pve-01/lxc/175/status/current --output-format json"))
    assert (current["status"], current["vmid"]) == ("stopped", 175)
    assert inside("pve-01", "pvesh", "get", "/nonsense").returncode != 0


def test_lxc_info_tells_the_first_process(sh: Sh, inside: Inside) -> None:
    pid = sh("pve-01", "lxc-info -n 174 -p -H")
    assert sh("pve-01", f"grep ^NSpid: /proc/{pid}/status").split() == ["NSpid:", pid, "1"]
    assert sh("pve-01", "lxc-info -n 174 -s").split() == ["State:", "RUNNING"]
    assert inside("pve-01", "lxc-info", "-n", "999", "-p").returncode == 1
