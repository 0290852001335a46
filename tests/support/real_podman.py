"""Podman itself on a host of its own, in namespaces of this machine: for root, where Podman is installed and can run."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_session import LocalSession

from fleetops.model.command import Command, Outcome, shell

_SCRIPT = Path(__file__).with_suffix(".sh")
_PATIENCE_S = 30.0
# The image is empty: a container's programs are this machine's own, bound into it.
BOUND = tuple(
    word
    for folder in ("/usr", "/lib", "/lib64", "/bin")
    if Path(folder).exists()
    for word in ("-v", f"{folder}:{folder}:ro")
)


class PodmanHost(LocalSession):
    """A session into it: commands run there, by nsenter."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._enter = ("nsenter", "--target", str(pid), "--mount", "--pid", "--")

    def run(self, command: Command, on_output: object = None) -> Outcome:
        argv = (*self._enter, *command.argv)
        return super().run(Command(argv=argv, stdin=command.stdin, deadline_s=command.deadline_s))


@contextlib.contextmanager
def real_podman() -> Iterator[PodmanHost]:
    """Up when a container has run there; skips plainly where this machine does not allow it."""
    if os.geteuid() or not shutil.which("podman") or not shutil.which("crun"):
        pytest.skip("Podman can be run for real only by root, where podman and crun are installed")
    process = subprocess.Popen(["sh", str(_SCRIPT)], start_new_session=True)
    try:
        yield _proven(_first_process(process))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_PATIENCE_S)


def _first_process(process: "subprocess.Popen[bytes]") -> PodmanHost:
    deadline = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if children and PodmanHost(int(children[0])).run(shell("test -e /run/up")).ok:
            return PodmanHost(int(children[0]))
        time.sleep(0.1)
    pytest.skip("Podman does not come up in namespaces of this machine")


def _proven(host: PodmanHost) -> PodmanHost:
    tried = host.run(
        Command(argv=("podman", "run", "--rm", *BOUND, "lab/bare:1", "/bin/true"), deadline_s=30)
    )
    if not tried.ok:
        pytest.skip(f"Podman runs no container here: {tried.said}")
    return host
