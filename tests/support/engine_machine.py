"""The stand-in engine on plain Linux: its own driver, devices, shared memory and meminfo, in a temporary folder."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fleetops.lab import wheel
from fleetops.lab.driver import Driver, create
from fleetops.lab.engine.model_folder import write_models
from fleetops.lab.fleet import gpus_of, lab_host
from fleetops.lab.kernel import MemoryUse, meminfo

ROOT = Path(__file__).resolve().parents[2]
READY = "The server is fired up and ready to roll!"
VLLM_READY = "Application startup complete."
PATIENCE_S = 30.0


@dataclass
class Kin:
    """A process as /proc shows it. `live` are its threads that are not dead."""

    pid: int
    ppid: int
    state: str
    comm: str
    live: int
    cmdline: list[str] = field(default_factory=list)


class Machine:
    """A stand-in for a node: where the engine's environment points."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        create(folder / "driver", [gpu for gpu in gpus_of(lab_host("pve-01")) if gpu.minor < 8])
        self.driver = Driver(folder / "driver")
        for name in ("dev", "shm"):
            (folder / name).mkdir()
        for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{minor}" for minor in range(8))):
            (folder / "dev" / name).touch()
        idle = MemoryUse(total=449 * 10**9, idle=445 * 10**9)
        (folder / "meminfo").write_text(meminfo(idle))
        write_models(folder / "models")
        wheel._write_stand_in(folder / "source")
        self.model = folder / "models/example"
        self.engines: list[Engine] = []

    @property
    def segments(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "shm").iterdir())

    @property
    def available_gb(self) -> float:
        return 445 - self.driver.ledger.totals().host_bytes.get("host", 0) / 1e9

    @property
    def gpu_mib(self) -> dict[int, int]:
        return dict(self.driver.ledger.totals().gpu_mib)

    def start_vllm(self, *flags: str, ranks: int = 2, **environment: str) -> "Engine":
        port = free_port()
        argv = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(self.folder / "models/small")]
        argv += ["--tensor-parallel-size", str(ranks), "--host", "127.0.0.1", "--port", str(port), *flags]
        engine = Engine(self, argv, port, self._environment() | environment, ready=VLLM_READY)
        self.engines.append(engine)
        return engine

    def start(self, *flags: str, ranks: int = 8, model: Path | None = None, **environment: str) -> "Engine":
        port = free_port()
        argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(model or self.model)]
        argv += ["--tp", str(ranks), "--port", str(port), *flags]
        engine = Engine(self, argv, port, self._environment() | environment)
        self.engines.append(engine)
        return engine

    def _environment(self) -> dict[str, str]:
        site = ROOT / "fleetops/lab/engine/site"
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{site}:{ROOT}:{self.folder / 'source'}",
            "FLEETOPS_LAB_DRIVER": str(self.folder / "driver"),
            "FLEETOPS_LAB_DEVICES": str(self.folder / "dev"),
            "FLEETOPS_LAB_SHM": str(self.folder / "shm"),
            "FLEETOPS_LAB_MEMINFO": str(self.folder / "meminfo"),
            "SGLANG_LAB_PACE": "0.1",
        }


class Engine:
    """One launch, in a session of its own, with its log."""

    def __init__(
        self, machine: Machine, argv: list[str], port: int, environment: dict[str, str], ready: str = READY
    ) -> None:
        self.ready_line = ready
        self.machine = machine
        self.argv = argv
        self.port = port
        self._log = machine.folder / f"log-{port}"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                cwd=machine.folder,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def ready(self) -> "Engine":
        await_that(
            lambda: self.ready_line in self.log or self.process.poll() is not None, lambda: self.log[-2000:]
        )
        assert self.ready_line in self.log, self.log[-2000:]
        return self

    def ended(self) -> int:
        return self.process.wait(PATIENCE_S)

    def kin(self) -> list[Kin]:
        """Every process of the launch's session, dead ones included."""
        found = []
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with contextlib.suppress(OSError):
                    found += [kin for kin in [_kin(path, self.process.pid)] if kin]
        return sorted(found, key=lambda kin: kin.pid)

    def ranks(self) -> list[Kin]:
        return [kin for kin in self.kin() if kin.comm == "sglang::schedul"]

    def ask(self, path: str, body: object = None, timeout_s: float = 10.0) -> tuple[int, str]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def kill_all(self) -> None:
        """What a test's end needs: nothing of the session left, adopted orphans reaped."""
        deadline = time.monotonic() + PATIENCE_S
        while left := self.kin():
            assert time.monotonic() < deadline, left
            for kin in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(kin.pid, signal.SIGKILL)
            reap({kin.pid for kin in left} - {self.process.pid})
            self.process.poll()
            time.sleep(0.01)
        self.process.wait()


def _kin(path: Path, session: int) -> Kin | None:
    head, _, rest = (path / "stat").read_text().rpartition(")")
    fields = rest.split()
    if int(fields[3]) != session:
        return None
    tasks = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in (path / "task").iterdir()]
    words = (path / "cmdline").read_bytes().rstrip(b"\0").decode().split("\0")
    live = sum(state not in "ZX" for state in tasks)
    return Kin(int(path.name), int(fields[1]), fields[0], head.partition("(")[2], live, words)


def reap(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def await_that(is_true: Callable[[], bool], otherwise: Callable[[], object]) -> None:
    """Poll, which is all that the outside of a process offers."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether the kernel lists a listener on the port (state 0A), whoever has it."""
    return bool(re.search(rf":{port:04X} \w+:\w+ 0A ", Path("/proc/net/tcp").read_text()))
