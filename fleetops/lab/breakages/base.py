"""What breakages have in common: the engine started by hand on a node, and a look at what became of it."""

import json
import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fleetops.lab.control import run_in
from fleetops.lab.engine.care import Seen
from fleetops.lab.fleet import LabHost, lab_host
from fleetops.lab.spec import LIBRARY
from fleetops.model.errors import FleetopsError

LOG = "/root/sglang.log"
PORT = 30000
FRACTION = "0.88"
_READY = "The server is fired up and ready to roll!"
_PATIENCE_S = 60.0
_LOOK_S = 0.1
_PACE = "SGLANG_LAB_PACE"
_MAIN = (
    f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from fleetops.lab.%s import main; sys.exit(main())"
)


class BreakageFailed(FleetopsError):  # noqa: N818 - named for what the user reads
    """A node could not be broken as asked."""

    kind = "breakage-failed"


class BrokenNode:
    """A node on its way to being broken."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.name = name
        self.host: LabHost = lab_host(name)
        self.ranks = len(self.host.minors)

    def run(self, *argv: str, host: str = "") -> str:
        """Run a command there, or on its hypervisor, past SSH. Raises BreakageFailed."""
        done = run_in(self._folder, host or self.name, argv)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise BreakageFailed(f"{argv[0]} exited with {done.returncode}: {said}", host=self.name)
        return done.stdout

    def care(self, action: str, *arguments: str) -> str:
        """One of the lab's own actions in the host (engine/care.py)."""
        return self.run("python3", "-c", _MAIN % "engine.care", action, *arguments)

    def backup(self, action: str) -> None:
        """Start or end a backup of this guest on its hypervisor (tools/vzdump.py)."""
        kind = "lxc" if self.host.kind == "lxc" else "qemu"
        number = str(self.host.guest_id)
        self.run("python3", "-c", _MAIN % "tools.vzdump", action, kind, number, host=self.host.hypervisor)

    def look(self) -> list[Seen]:
        """The processes of its services."""
        return [Seen(**each) for each in json.loads(self.care("look"))]

    def clear(self) -> None:
        """No service, nothing that one left, and no lock of ours."""
        if self.host.hypervisor:
            self.backup("end")
        self.care("clear")

    def start(self, flags: Sequence[str], *, environment: Sequence[str] = ()) -> None:
        """Type the engine's command line into a shell, as an operator without fleetops does."""
        pace = [f"{_PACE}={os.environ[_PACE]}"] if _PACE in os.environ else []
        command = [*pace, *environment, "nohup", "setsid", *self._command(), *flags]
        line = f"cd /root; {shlex.join(command)} > {LOG} 2>&1 < /dev/null &"
        self.run("/bin/sh", "-c", line)

    def await_ready(self) -> None:
        """Wait until the engine says that it is ready. Raises BreakageFailed."""
        self.await_that(lambda: _READY in self.run("cat", LOG), "it never became ready")

    def await_that(self, is_true: Callable[[], bool], otherwise: str) -> None:
        """Wait for something to be true. Raises BreakageFailed with the log's end."""
        deadline = time.monotonic() + _PATIENCE_S
        while not is_true():
            if time.monotonic() > deadline:
                last = "; ".join(self.run("tail", "-n", "3", LOG).splitlines())
                raise BreakageFailed(f"{otherwise}; its log ends with: {last}", host=self.name, hint=LOG)
            time.sleep(_LOOK_S)

    def _command(self) -> list[str]:
        model = "/models/example" if self.ranks == 8 else "/models/small"
        place = ["--host", "0.0.0.0", "--port", str(PORT), "--mem-fraction-static", FRACTION]  # noqa: S104
        return [
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            model,
            "--tp",
            str(self.ranks),
            *place,
        ]


def ranks_of(seen: Sequence[Seen]) -> list[Seen]:
    """The rank processes among them."""
    return [each for each in seen if each.is_rank]


def zombies(seen: Sequence[Seen]) -> list[Seen]:
    """Entirely dead, not reaped."""
    return [each for each in seen if each.state == "Z" and not each.threads]


def ghosts(seen: Sequence[Seen]) -> list[Seen]:
    """Zombie leaders with live threads."""
    return [each for each in seen if each.state == "Z" and each.threads]


def launchers(seen: Sequence[Seen]) -> list[Seen]:
    """The processes that were typed."""
    return [each for each in seen if not each.comm.startswith("sglang::")]
