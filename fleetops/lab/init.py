"""PID 1 of a host: reaps what is left to it and keeps the memory figures current. Standard library only."""

import contextlib
import os
import signal
import time
from pathlib import Path

from fleetops.lab import trouble
from fleetops.lab.driver import Ledger
from fleetops.lab.kernel import MemoryUse, cgroup, meminfo
from fleetops.lab.power import Power
from fleetops.lab.spec import (
    AGENT,
    BUTTON,
    INIT_PID,
    LIBRARY,
    READY,
    RUN,
    TOOLS,
    HostSpec,
    python_command,
    read_spec,
)
from fleetops.lab.tools.answer import start_answering

_TICK_S = 0.05
_GRACE_S = 5.0
_STOP = frozenset({signal.SIGTERM, signal.SIGPWR, signal.SIGINT})


def main() -> int:
    """Boot, then look after the host until it is told to stop."""
    awaited = _STOP | {signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    spec = read_spec(RUN)
    figures = Figures(spec)
    figures.refresh()
    start_answering()
    if not trouble.has(RUN, trouble.Mark.DEAD):
        boot(spec)
    (RUN / READY).write_text("")
    while True:
        arrived = signal.sigtimedwait(awaited, _TICK_S)
        reap()
        if (arrived and arrived.si_signo in _STOP) or _is_asked_to_stop():
            return stop()
        figures.refresh()


def boot(spec: HostSpec) -> None:
    """Start what runs by itself: a hypervisor's guests, a VM's agent, a node's bystander or service."""
    if spec.kind == "hypervisor":
        for folder in sorted((RUN / "guests").glob("*")):
            _spawn([*python_command(spec.python, "fleetops.lab.host", str(LIBRARY)), str(folder)])
        for number in sorted(spec.vms):
            _spawn([str(TOOLS / "bin/qm"), "start", number])
    if spec.kind == "vm":
        _start_agent(spec)
    if spec.bystander:
        _spawn(["python3", "/root/bystander.py"])
    if spec.service:
        _spawn(["/bin/sh", "-c", spec.service])


def _start_agent(spec: HostSpec) -> None:
    """The guest agent; the boot goes on when it can be asked."""
    (RUN / AGENT).unlink(missing_ok=True)
    _spawn(python_command(spec.python, "fleetops.lab.agent", str(LIBRARY)))
    deadline = time.monotonic() + _GRACE_S
    while not (RUN / AGENT).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def _is_asked_to_stop() -> bool:
    """Whether somebody has pressed the machine's power button, which a guest that hangs in its boot ignores."""
    return (RUN / BUTTON).exists() and not trouble.has(RUN, trouble.Mark.DEAD)


def reap() -> None:
    """Collect every child that has ended, adopted ones included."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def stop() -> int:
    """Ask everything to end, and leave after a grace: the kernel ends what is left."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        signal.sigtimedwait({signal.SIGCHLD}, _TICK_S)
    return 0


class Figures:
    """The files behind /proc/meminfo and /sys/fs/cgroup, rewritten when they change."""

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._ledger = Ledger(RUN / "driver")
        self._last: MemoryUse | None = None
        self._guest_inits = [RUN / "guests" / number / INIT_PID for number in spec.guests]
        # A VM with passed-through devices has all its memory from its start on.
        self._vms = {RUN / "vms" / number: read_spec(RUN / "vms" / number).total_bytes for number in spec.vms}

    def refresh(self) -> None:
        """Read what is taken now and write it out."""
        use = MemoryUse(
            total=self._spec.total_bytes,
            idle=self._spec.idle_bytes + self._of_stopped_vms(),
            pinned=self._pinned(),
            shared=sum(_used(folder) for folder in self._shared_folders()),
        )
        if use == self._last:
            return
        self._last = use
        _rewrite(RUN / "kernel/meminfo", meminfo(use))
        for name, text in cgroup(use, limited=self._spec.is_container).items():
            _rewrite(RUN / "kernel/cgroup" / name, text)

    def _pinned(self) -> int:
        taken = self._ledger.totals().host_bytes
        return taken.get(self._spec.guest, 0) if self._spec.is_container else sum(taken.values())

    def _of_stopped_vms(self) -> int:
        return sum(size for folder, size in self._vms.items() if not Power(folder).is_held)

    def _shared_folders(self) -> list[str]:
        """A hypervisor's kernel counts its containers' shared memory too."""
        pids = (_text(file) for file in self._guest_inits)
        return ["/dev/shm", *(f"/proc/{pid}/root/dev/shm" for pid in pids if pid)]  # noqa: S108


def _rewrite(path: Path, text: str) -> None:
    """In place, as the kernel's own files change: whoever has one open reads the new figures from it.

    What stood there longer is cut off afterwards; until then it follows the last line and is no line of its own.
    """
    with path.open("r+b", buffering=0) as file:
        file.write(text.encode())
        file.truncate()


def _used(folder: str) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:  # a container that is going down
        return 0
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _spawn(argv: list[str]) -> None:
    """Start something in a session of its own, with no signal blocked; it is reaped like anything else."""
    nothing = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
    os.posix_spawnp(argv[0], argv, os.environ, file_actions=[nothing], setsid=True, setsigmask=[])
