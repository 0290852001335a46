"""A lab comes up whole, goes away whole, and takes everything along however its supervisor dies."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetops.lab import api
from fleetops.lab.control import run_in
from fleetops.lab.privilege import LAB_UID
from fleetops.lab.process import lab_process
from fleetops.model.errors import UsageError

pytestmark = pytest.mark.lab


@pytest.fixture
def folder() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="fleetops-test-"))
    yield parent / "lab"
    api.down(parent / "lab")
    shutil.rmtree(parent)


def every_pid() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        found.append(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found


def test_up_and_down_can_be_said_twice(folder: Path) -> None:
    first = api.up(folder)
    assert api.up(folder) == first
    assert {host.running for host in api.status(folder)} == {True}
    assert api.down(folder)
    assert not folder.exists()
    assert not api.down(folder)


def test_two_labs_side_by_side_know_nothing_of_each_other(lab: api.Lab, folder: Path) -> None:
    other = api.up(folder)
    assert not set(other.ports.values()) & set(lab.ports.values())
    run_in(folder, "node-190", ["sh", "-c", "echo theirs > /root/mark"])
    assert run_in(lab.folder, "node-190", ["cat", "/root/mark"]).returncode != 0
    api.down(folder)
    assert run_in(lab.folder, "node-190", ["hostname"]).stdout == "node-190\n"


@pytest.mark.parametrize("victim", ["first process", "supervisor"])
def test_nothing_outlives_a_killed_supervisor(folder: Path, victim: str) -> None:
    api.up(folder)
    first = lab_process(folder).pid
    run_in(folder, "node-174", ["sh", "-c", "setsid sleep 303 >/dev/null 2>&1 & sleep 0.1"])
    started = [pid for pid in every_pid() if first in ancestors(pid)]
    sleeping = [pid for pid in every_pid() if b"sleep\x00303" in command_line(pid)]
    assert len(started) > len(api.FLEET)
    assert sleeping
    child = next(pid for pid in started if parent(pid) == first)
    os.kill(first if victim == "first process" else child, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while alive := [pid for pid in started + sleeping if is_alive(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.02)
    assert api.find(folder) is None
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    assert api.up(folder).ports, "a dead lab's folder is taken over"


def test_a_bound_lab_ends_with_whoever_brought_it_up(folder: Path) -> None:
    script = (
        "import pathlib, sys, time; from fleetops.lab import api\n"
        "api.up(pathlib.Path(sys.argv[1]), bound=True); print('up', flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout.readline() == b"up\n"
        process = lab_process(folder)
        assert process.is_alive
        owner.kill()
    deadline = time.monotonic() + 10
    while process.is_alive:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_folder_that_is_no_lab_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not a lab"):
        api.up(tmp_path)
    with pytest.raises(UsageError, match="not a lab"):
        api.down(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_keys_and_records_are_private(lab: api.Lab) -> None:
    for path in (lab.folder, lab.identity.parent, lab.folder / "state"):
        assert path.stat().st_mode & 0o077 == 0, path
    for path in lab.identity.parent.glob("*ed25519"):
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_the_labs_processes_are_never_roots(lab: api.Lab) -> None:
    status = Path(f"/proc/{lab_process(lab.folder).pid}/status").read_text()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    assert set(uids) == {str(LAB_UID if os.geteuid() == 0 else os.geteuid())}


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are a plain user's already")
def test_a_plain_user_can_run_it(folder: Path) -> None:
    """A process that has given up root, as the lab itself does, is a plain user with the interpreter in reach."""
    folder.parent.chmod(0o777)
    script = """if True:
        import sys
        from pathlib import Path
        from fleetops.lab import api, privilege
        from fleetops.lab.control import run_in
        parent = Path(sys.argv[1])
        privilege.give_up_root(parent)
        api.up(parent / "lab")
        print(run_in(parent / "lab", "node-174", ["hostname"]).stdout, end="")
        print(sum(host.running for host in api.status(parent / "lab")))
        print(api.down(parent / "lab"))
    """
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder.parent)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"FLEETOPS_CACHE": str(folder.parent / "cache")},
    )
    assert done.stdout.split() == ["node-174", str(len(api.FLEET)), "True"], done.stderr


def parent(pid: int) -> int:
    return ([*ancestors(pid)[1:], 0])[0]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
