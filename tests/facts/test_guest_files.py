"""From the files of Proxmox the same is read as from its tools: which configuration is in force, and what is to come."""

import os
import subprocess
from pathlib import Path

import pytest

from fleetops.facts import guest, pending
from fleetops.model.command import Outcome
from fleetops.model.fact import Fact
from fleetops.model.guest import PendingChange

CONTAINER = """\
#what it is for%3A tests
arch: amd64
hostname: node-174
memory: 4096
mp0: local-zfs:subvol-174-disk-1,mp=/models
lxc.cgroup2.devices.allow: c 195:* rwm

[pve:pending]
delete: mp0,!swap
memory: 8192
net1: name=eth1,bridge=vmbr0

[pending]
hostname: of-the-snapshot
memory: 1024
"""
MACHINE = """\
memory: 16384
name: node-181
hostpci1: 0000:01:00.1,pcie=1

[PENDING]
delete: hostpci1
memory: 32768
"""


@pytest.fixture
def read(tmp_path: Path):
    """Runs a fact's script on a host whose configurations are these files, with stand-ins that note their calls."""
    for folder, name, text in (("lxc", "174", CONTAINER), ("qemu-server", "181", MACHINE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.conf").write_text(text)
    (tmp_path / "calls").touch()
    for tool in ("pct", "qm"):
        _write(tmp_path / tool, f'echo "{tool} $*" >> "{tmp_path}/calls"\necho "status: paused"\n')
    _write(tmp_path / "lxc-info", f"test $2 = 174 && echo {os.getpid()}\n")

    def run(fact: Fact):
        words = [word.replace("/etc/pve", str(tmp_path)) for word in fact.command.argv]
        environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(words, check=False, capture_output=True, text=True, env=environ)
        value = fact.read(Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr))
        return value, (tmp_path / "calls").read_text().splitlines()

    return run


def _write(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def test_a_running_container_is_read_without_any_of_proxmoxs_tools(read):
    state, calls = read(guest.fact("lxc", 174))
    assert calls == []
    assert state.status == "running"
    assert state.init_pid == os.getpid()
    assert state.config == {
        "arch": "amd64",
        "hostname": "node-174",
        "memory": "4096",
        "mp0": "local-zfs:subvol-174-disk-1,mp=/models",
    }
    assert state.raw == (("lxc.cgroup2.devices.allow", "c 195:* rwm"),)


def test_of_a_vm_only_its_status_is_asked(read):
    state, calls = read(guest.fact("vm", 181))
    assert calls == ["qm status 181"]
    assert state.status == "paused"
    assert (state.name, state.config["memory"]) == ("node-181", "16384")


def test_where_there_is_no_file_the_tools_are_asked(read):
    _, calls = read(guest.fact("lxc", 999))
    assert calls == ["pct status 999", "pct config 999 --current 1"]
    _, calls = read(pending.fact("lxc", 999))
    assert calls[-1] == "pct pending 999"


def test_what_is_to_come_is_told_of_a_container_and_no_snapshot_is_taken_for_it(read):
    changes, calls = read(pending.fact("lxc", 174))
    assert calls == []
    assert changes == (
        PendingChange(key="memory", now="4096", then="8192"),
        PendingChange(key="mp0", now="local-zfs:subvol-174-disk-1,mp=/models", then=None),
        PendingChange(key="net1", now=None, then="name=eth1,bridge=vmbr0"),
    )


def test_what_is_to_come_is_told_of_a_vm(read):
    changes, _ = read(pending.fact("vm", 181))
    assert changes == (
        PendingChange(key="hostpci1", now="0000:01:00.1,pcie=1", then=None),
        PendingChange(key="memory", now="16384", then="32768"),
    )
