"""systemd itself as a host's first process, in namespaces of this machine: for root, where cgroups are of version 1."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_session import LocalSession

from fleetops.model.command import Command, Outcome

_SCRIPT = Path(__file__).with_suffix(".sh")
_PATIENCE_S = 30.0


class SystemdHost(LocalSession):
    """A session into it: commands run there, by nsenter."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        kinds = ("--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--root", "--wd")
        self._enter = ("nsenter", "--target", str(pid), *kinds, "--")

    def run(self, command: Command, on_output: object = None) -> Outcome:
        argv = (*self._enter, *command.argv)
        return super().run(Command(argv=argv, stdin=command.stdin, deadline_s=command.deadline_s))


@contextlib.contextmanager
def real_systemd(folder: Path, *seen: Path) -> Iterator[SystemdHost]:
    """Up when its bus answers; skips plainly where this machine does not allow it. `seen`: folders to be seen in it."""
    mine = [line.partition(":memory:")[2] for line in Path("/proc/self/cgroup").read_text().splitlines()]
    memory = next(filter(None, mine), "")
    name = f"fleetops-systemd-{os.getpid()}"
    groups = [
        Path("/sys/fs/cgroup/systemd", name),
        Path(f"/sys/fs/cgroup/memory{memory.rstrip('/')}", name),
    ]
    if (
        os.geteuid()
        or not Path("/lib/systemd/systemd").exists()
        or not all(one.parent.is_dir() for one in groups)
    ):
        pytest.skip("systemd can be the first process of namespaces only for root, on cgroups of version 1")
    process = subprocess.Popen(
        ["sh", str(_SCRIPT), str(folder), *map(str, (*groups, *seen))], start_new_session=True
    )
    try:
        yield SystemdHost(_first_process(process, folder))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_PATIENCE_S)
        for group in groups:
            _remove(group)


def _first_process(process: "subprocess.Popen[bytes]", folder: Path) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if (
            children
            and SystemdHost(int(children[0]))
            .run(Command(argv=("systemctl", "show", "--property=Version")))
            .ok
        ):
            return int(children[0])
        time.sleep(0.1)
    said = (folder / "said").read_text() if (folder / "said").exists() else ""
    pytest.skip(f"systemd does not come up here: {said.strip() or 'its bus does not answer'}")


def _remove(group: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while group.exists() and time.monotonic() < deadline:
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            group.rmdir()
        time.sleep(0.05)
