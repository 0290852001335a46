"""An emulator that outlives its VM's stop is found on the host though no pid file names it any more."""

import os
import subprocess
from pathlib import Path

import pytest

from fleetops.facts import guest
from fleetops.model.command import Outcome

QM = """#!/bin/sh
case $1 in
    status) echo 'status: stopped' ;;
    config) printf 'memory: 65536\\nname: node-181\\n' ;;
esac
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a `qm` that says `stopped`, and a `kvm` that waits until its input ends."""
    (tmp_path / "qm").write_text(QM)
    (tmp_path / "qm").chmod(0o755)
    (tmp_path / "kvm").symlink_to("/bin/sh")
    return tmp_path


@pytest.mark.parametrize("asked", [94181, 9418], ids=["its own", "another's whose number is a part of it"])
def test_a_kvm_without_a_pid_file_is_found_by_its_id(tools, asked):
    kvm = subprocess.Popen(
        [tools / "kvm", "-c", "echo up; read x", "-id", "94181"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        kvm.stdout.readline()
        fact = guest.fact("vm", asked)
        done = subprocess.run(
            fact.command.argv,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        )
        state = fact.read(Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr))
        assert state.status == "stopped"
        assert state.init_pid == (kvm.pid if asked == 94181 else None)
        assert (state.held_bytes is not None) == (asked == 94181)
        assert [one.pid for one in state.left] == ([kvm.pid] if asked == 94181 else [])
    finally:
        kvm.communicate()
