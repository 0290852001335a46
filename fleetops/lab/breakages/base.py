"""What breakages have in common: the engine started by hand on a node, and a look at what became of it."""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fleetops.facts.attempts import FOLDER as ATTEMPTS
from fleetops.lab.breakages import all_breakages
from fleetops.lab.breakages.host_faults import mend
from fleetops.lab.control import run_in
from fleetops.lab.engine.care import TITLES, Seen
from fleetops.lab.fleet import LabHost, lab_host
from fleetops.lab.paths import Layout
from fleetops.lab.spec import LIBRARY
from fleetops.model.errors import FleetopsError
from fleetops.store.breaker import BreakerStore

LOG = "/root/sglang.log"
PORT = 30000
FRACTION = "0.88"
_READY = "The server is fired up and ready to roll!"
_PATIENCE_S = 60.0
_LOOK_S = 0.1
_PACE = "SGLANG_LAB_PACE"
# Of the small model a GPU holds a million tokens, and the engine wants a host pool that is larger: 82 GB in each rank.
_FEW_TOKENS = "100000"
_ASK = f"""
import socket
body = b'{{"text": "still there?", "sampling_params": {{"max_new_tokens": 8}}}}'
head = b"POST /generate HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
socket.create_connection(("127.0.0.1", {PORT}), 5).sendall(head + body)
"""
_MAIN = (
    f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from fleetops.lab.%s import main; sys.exit(main())"
)
# The first that dies may take others along before their turn.
_KILL = 'for pid; do kill -KILL "$pid" 2>/dev/null || [ ! -e "/proc/$pid" ] || exit; done'


class BreakageFailed(FleetopsError):  # noqa: N818 - named for what the user reads
    """A node could not be broken as asked."""

    kind = "breakage-failed"


class BrokenNode:
    """A node on its way to being broken."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.host: LabHost = lab_host(name)
        self.ranks = len(self.host.minors)

    def run(self, *argv: str, host: str = "") -> str:
        """Run a command there, or on its hypervisor, past SSH. Raises BreakageFailed."""
        done = run_in(self.folder, host or self.name, argv)
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
        """No service, nothing that one left, every breakage undone, and nothing that counts against healing it anew."""
        mend(self)
        for each in all_breakages():
            if self.host.kind in each.platforms:
                each.undo(self.folder, self.name)
        self.care("clear")
        self._forget_recoveries()

    def _forget_recoveries(self) -> None:
        """Whoever breaks a node on purpose may heal it as often: neither attempts nor the breaker remember it."""
        self.run("rm", "-f", f"{ATTEMPTS}/{self.name}", host=self.host.hypervisor)
        BreakerStore(Layout(self.folder).state).forget(self.name)

    def spawn(self, *argv: str) -> int:
        """Start a process of its own session that no service knows, until the node is cleared. Its pid."""
        return int(self.care("spawn", *argv))

    def care_later(self, action: str, *arguments: str) -> None:
        """One of the lab's own actions that takes its time in the host, until the node is cleared."""
        self.spawn("python3", "-c", _MAIN % "engine.care", action, *arguments)

    def order(self, fault: str) -> None:
        """Have the next service that starts here go wrong in that way, once ($SGLANG_LAB_FAULT, engine/places.py)."""
        self.care("order", fault)

    def serve(self, *flags: str, fault: str = "") -> None:
        """A service of as many ranks as the node has GPUs, started and ready."""
        environment = [f"SGLANG_LAB_FAULT={fault}"] if fault else []
        self.start(["--enable-metrics", *flags], environment=environment)
        self.await_ready()

    def serve_profile(self, *, fault: str = "") -> None:
        """The service that belongs here, as its profile has it, started and ready."""
        self.serve(*(self.host_pool(48) if self.host.profile == "hicache48" else ()), fault=fault)

    def kill(self, seen: Iterable[Seen]) -> None:
        """SIGKILL, all at once."""
        self.run("sh", "-c", _KILL, "kill", *(str(each.pid) for each in seen))

    def ask(self) -> None:
        """Send one request that no rank will ever answer: the launcher waits for it also when it is asked to stop."""
        self.run("python3", "-c", _ASK)

    def host_pool(self, size_gb: int) -> list[str]:
        """Flags for a host pool of that size in each rank, above what the engine wants for the GPU pool it has."""
        flags = ["--enable-hierarchical-cache", "--hicache-size", str(size_gb)]
        return flags if self.ranks == 8 else [*flags, "--max-total-tokens", _FEW_TOKENS]

    def start(self, flags: Sequence[str], *, environment: Sequence[str] = ()) -> None:
        """Type the engine's command line into a shell, as an operator without fleetops does."""
        command = [*self.pace(), *environment, "nohup", "setsid", *self.command(), *flags]
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

    def pace(self) -> list[str]:
        """What a service of the lab shall be started with to be as fast as the caller wishes; nothing, or one setting."""
        return [f"{_PACE}={os.environ[_PACE]}"] if _PACE in os.environ else []

    def command(self) -> list[str]:
        """The engine's command line for this node, without what only some breakages want."""
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
    return [each for each in seen if not each.comm.startswith(TITLES)]
