"""A guard as it runs on a node, over a meminfo that a test writes and a service of real processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetops.steps.support.memory_guard.program import program

GB = 10**9
TOTAL_BYTES = 449 * GB
FLOOR_BYTES = 16 * GB
PATIENCE_S = 20.0
# The service's first words, as the start writes them, and then whatever a test wants it to be.
_BEGIN = """
import os, signal, subprocess, sys, time
ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
open({claim!r} + "/pid.new", "w").write(f"{{os.getpid()}} {{ticks}}")
os.rename({claim!r} + "/pid.new", {claim!r} + "/pid")
"""


@dataclass
class Watched:
    """One guard and its service, and the node's memory as the test says it is."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "claim").mkdir()
        (self.folder / "cgroup").mkdir()
        (self.folder / "guard.py").write_text(program())
        self.available(445)

    def available(self, size_gb: float) -> None:
        """What MemAvailable is from now on; one write of constant length, as the kernel's file changes at once."""
        text = f"MemTotal: {TOTAL_BYTES // 1024:>14} kB\nMemAvailable: {int(size_gb * GB) // 1024:>14} kB\n"
        path = self.folder / "meminfo"
        path.touch()
        with path.open("r+b", buffering=0) as file:
            file.write(text.encode())

    def guard(
        self, *, wait: bool = True, popen: dict[str, Any] | None = None, **settings: Any
    ) -> "subprocess.Popen[bytes]":
        """Start it, and wait until it says that it is armed. `popen`: further arguments of its process."""
        given = {
            "run_id": "run",
            "profile": "hicache48",
            "floor_bytes": FLOOR_BYTES,
            "armed_for_s": 60,
            "claim": str(self.folder / "claim"),
            "unit": "",
            "base": str(self.folder / "run"),
            "interval_s": 0.02,
            "service_within_s": 60,
            "hurry": 10,
            "meminfo": str(self.folder / "meminfo"),
            "cgroup": str(self.folder / "cgroup"),
        }
        argv = [sys.executable, "-I", "-S", str(self.folder / "guard.py"), json.dumps(given | settings)]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **(popen or {})
            )
        self.processes.append(process)
        if wait:
            self.until(lambda: self.state)
        return process

    def service(self, code: str = "time.sleep(600)", before: str = "") -> "subprocess.Popen[bytes]":
        """A service in a session of its own; returns when the guard watches over it. `before`: done before it says who it is."""
        begin = _BEGIN.format(claim=str(self.folder / "claim"))
        argv = [sys.executable, "-c", before + begin + code]
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self.processes.append(process)
        self.until(lambda: self.state["service"])
        return process

    @property
    def state(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            state: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
            return state
        return {}

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def looks(self, more: int = 5) -> None:
        """Return when the guard has looked so many times more, so that what was to be seen has been seen."""
        before = self.state["looks"]
        self.until(lambda: self.state["looks"] >= before + more)

    def until(self, is_true: Callable[[], object]) -> None:
        """Poll, which is all that the outside of a process offers."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_true():
            assert time.monotonic() < deadline, (self.state, self.log)
            time.sleep(0.01)

    def meminfo_says(self, text: str) -> None:
        """Something else than memory."""
        with (self.folder / "meminfo").open("r+b", buffering=0) as file:
            file.write(text.encode())

    def told(self, what: str) -> None:
        (self.folder / f"run.{what}").touch()

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait(PATIENCE_S)
            if process.stdout:
                process.stdout.close()


def is_alive(pid: int) -> bool:
    """Running, sleeping or in D: not a zombie, not gone."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return letter not in "ZX"
