"""A clean node of the deep lab, and what a test does there: start a server, kill some of it, look at what is left."""

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import CommandLine, Ran
from deep_files import NODE
from deep_lab import PATIENCE_S, DeepLab, operator

from fleetops.model.fleet import HostMemory, Profile
from fleetops.steps.support.memory_guard.commands import arm_command

GUARDED = "deep-run"


class DeepCommandLine(CommandLine):
    """fleetops as the operator types it, in the operator's own network."""

    def argv(self, *words: str) -> list[str]:
        pid = int((self.inventory.parent / "pid").read_text())
        return [*operator(pid), *super().argv(*words)]


@dataclass(frozen=True)
class Seen:
    """One process of the node: pid, parent and state as the node's own kernel tells them."""

    pid: int
    ppid: int
    state: str
    threads: int
    comm: str


@dataclass(frozen=True)
class DeepNode:
    """A clean node, and the command line to heal it with."""

    lab: DeepLab
    fleetops: CommandLine
    guest_id: int = NODE

    @property
    def name(self) -> str:
        return f"node-{self.guest_id}"

    def sh(self, script: str, *words: str, check: bool = True) -> str:
        """What a shell script prints on the node."""
        return self.lab.in_node(self.guest_id, "sh", "-c", script, "sh", *words, check=check)

    def start(self, script: str, say: str, **environment: str) -> None:
        """Start a program of /opt that lives on by itself, and wait for its first word."""
        settings = [f"{name}={value}" for name, value in environment.items()]
        log = f"/tmp/{say}.log"
        self.sh(f'exec setsid -f env "$@" {script} > {log} 2>&1 < /dev/null', *settings)
        self.until(lambda: say in self.sh(f"cat {log}"), lambda: self.sh(f"cat {log}"))

    def serve(self, **environment: str) -> None:
        """The server, up."""
        flags = "--model-path /models/small --tp 2 --port 30000"
        self.start(f"python3 /opt/sglang/launch_server.py {flags}", "ready", **environment)

    def guard(self, floor_bytes: int) -> None:
        """Arm the memory guard as a launch does, and tell it that the server which runs is its service."""
        memory = HostMemory(reserve_bytes=0, floor_bytes=floor_bytes)
        profile = Profile(
            name="deep", engine="sglang", model="/models/small", ranks=2, port=30000, host_memory=memory
        )
        arm = arm_command(profile, GUARDED, claim=f"/run/{GUARDED}", unit="", log=f"/tmp/{GUARDED}.log")
        self.lab.in_node(self.guest_id, *arm.argv, stdin=arm.stdin)
        pid = self.launcher()
        ticks = self.sh("cat /proc/$1/stat", str(pid)).rpartition(")")[2].split()[19]
        self.sh(
            'mkdir "$1" && echo "$2" > "$1/new" && mv "$1/new" "$1/pid"', f"/run/{GUARDED}", f"{pid} {ticks}"
        )
        self.until(lambda: self.guarded()["service"], self.guarded)

    def guarded(self) -> Any:
        """What the guard says of itself and of its service."""
        return json.loads(self.sh(f"cat /run/fleetops/guard/{GUARDED}.json"))

    def processes(self) -> list[Seen]:
        """All that runs on the node but this look's own."""
        table = self.sh("grep -s '' /proc/[0-9]*/stat || true")  # one may end between two reads
        seen = []
        for line in table.splitlines():
            head, _, tail = line.rpartition(")")
            fields = tail.split()
            pid = int(head.split(":", 1)[1].split()[0])
            seen.append(Seen(pid, int(fields[1]), fields[0], int(fields[17]), head.partition("(")[2]))
        return [one for one in seen if one.pid != 1 and one.ppid != 0 and one.comm not in {"grep", "sshd"}]

    def ranks(self) -> list[Seen]:
        """The server's ranks, dead ones included."""
        return [one for one in self.processes() if one.comm.startswith("sglang::")]

    def launcher(self) -> int:
        [pid] = self.sh("pgrep -f '^python3 /opt/sglang/launch_server.py'").split()
        return int(pid)

    def kill(self, *pids: int, number: int = signal.SIGKILL) -> None:
        self.sh('kill "$@"', f"-{int(number)}", *map(str, pids))

    def listens(self, port: int = 30000) -> bool:
        return f":{port:04X} 00000000:0000 0A" in self.sh("cat /proc/net/tcp")

    def posix_segments(self) -> list[str]:
        return self.sh("ls /dev/shm").split()

    def sysv_segments(self) -> list[int]:
        """Their keys."""
        return [int(line.split()[0]) for line in self.sh("cat /proc/sysvipc/shm").splitlines()[1:]]

    def available_bytes(self) -> int:
        """MemAvailable as lxcfs tells it on the node."""
        return 1024 * int(self.sh("sed -n 's/^MemAvailable: *//p' /proc/meminfo").split()[0])

    def memory(self, name: str) -> str:
        """A file of the container's memory cgroup, as its host sees it."""
        return self.lab.on_host("cat", f"/sys/fs/cgroup/memory/lxc/{self.guest_id}/{name}")

    def used_bytes(self) -> int:
        """What the kernel has charged to the container."""
        return int(self.memory("memory.usage_in_bytes"))

    def probe(self) -> Any:
        """What probe tells of the node: `hosts` and `findings` of its JSON."""
        ran = self.fleetops("probe", self.name, "--json")
        return ran.json

    def findings(self) -> set[str]:
        return {one["check"] for one in self.probe()["findings"]}

    def heal(self, command: str = "kill") -> Ran:
        """`kill`, or `recover` without a relaunch."""
        more = ["--no-relaunch"] if command == "recover" else []
        return self.fleetops(command, self.name, "--yes", "--json", *more, timeout=280)

    def until(self, is_true: Callable[[], object], why: Callable[[], object] = lambda: "") -> None:
        """Poll, which is all that the outside of a process offers."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_true():
            assert time.monotonic() < deadline, why()
            time.sleep(0.05)


def changes(result: Any) -> list[list[str]]:
    """The argvs of every change that a run's journal holds, each with its host in front."""
    lines = Path(result["evidence"], "journal.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [[event["host"], *event["argv"]] for event in events if event["event"] == "intent"]
