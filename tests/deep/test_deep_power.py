"""Rung 4 on a real container: stopped through `pct`, its GPUs reset on the host, started, and the same node back."""

import signal

import pytest
from deep_files import NODE
from deep_node import changes


def test_gpu_memory_that_only_a_restart_frees(node, deep, cell):
    """The GPU is a stand-in's; the container, its stop and its start are real."""
    deep.on_host("touch", "/run/deep/held")
    node.sh("echo kept > /root/kept; mkdir -p /run/fleetops")
    before = deep.init_of(NODE)
    assert "gpu-memory-held" in cell.finds(node.findings())
    ran = node.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    done = [change for change in changes(ran.json) if change[0] == "pve-01"]
    resets = ["fleetops-reset-gpus" in change for change in done]
    assert resets == [True, False, True, False]
    assert [change[-3:] for change in done[1::2]] == [["pct", "stop", str(NODE)], ["pct", "start", str(NODE)]]
    assert deep.init_of(NODE) != before
    assert node.sh("cat /root/kept") == "kept\n"
    cell.verified(
        "reset refused by the driver; pct stop, reset, pct start; another first process, the root's files kept"
    )


@pytest.mark.matrix
def test_a_container_that_a_backup_has_locked_is_not_stopped(node, deep, cell):
    deep.on_host("touch", "/run/deep/held")
    deep.on_host("sh", "-c", f"echo 'lock: backup' >> /etc/pve/lxc/{NODE}.conf")
    before = deep.init_of(NODE)
    try:
        cell.finds(node.findings())
        ran = node.heal("recover")
    finally:
        deep.on_host("sed", "-i", "/^lock: /d", f"/etc/pve/lxc/{NODE}.conf")
    cell.ended(ran)
    assert ran.status == 5
    assert ran.error["guard"] == "proxmox-lock"
    assert deep.init_of(NODE) == before
    assert "resets" not in deep.on_host("ls", "/run/deep")
    cell.verified("not stopped, not reset")


@pytest.mark.matrix
def test_an_sshd_of_a_container_that_takes_connections_and_says_nothing(node, deep, cell):
    """The machine-id in the container's root tells whose it is; so it is stopped and started."""
    before = deep.init_of(NODE)
    node.kill(int(node.sh("cat /run/sshd.pid")), number=signal.SIGSTOP)
    assert "no-banner" in cell.finds(node.findings())
    ran = node.heal("recover")
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    power = [change[-3:] for change in changes(ran.json) if change[-3] == "pct"]
    assert power == [["pct", "stop", str(NODE)], ["pct", "start", str(NODE)]]
    assert deep.init_of(NODE) != before
    assert node.fleetops("run", node.name, "--", "true").status == 0
    cell.verified("identified by its root; another first process, it answers again")
