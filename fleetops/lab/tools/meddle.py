"""What breakages do to a node's driver, to its guest and to its hypervisor, and how all of it is undone.

Not a command of the lab's hosts: `meddle KIND ID ACTION ...` runs on the hypervisor for `lxc` and `qemu`, and on the
machine itself, with KIND `bare`, for its own driver. Standard library only.
"""

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from fleetops.lab import trouble
from fleetops.lab.driver import DRIVER_FOLDER, HOST, LANES, Driver, Faults, Gpu
from fleetops.lab.emulator import PROCESS
from fleetops.lab.engine.kernel import set_title
from fleetops.lab.kernel_log import forget_lines, log_kernel
from fleetops.lab.pci import CURRENT_WIDTH, DEVICES
from fleetops.lab.power import Power
from fleetops.lab.spec import READY, RUN, read_spec
from fleetops.lab.tools import pct, qm_power, vzdump
from fleetops.lab.tools.nvidia_persistenced import PID_FILE
from fleetops.lab.tools.proxmox import HA_RESOURCES, PENDING_HEADS, Guest, guests, lock_path, rewrite

_CLAIM = "dev99"
_HOLDER = "lock-holder.pid"
_PATIENCE_S = 20.0
_CHANGES = frozenset({"start", "stop", "shutdown", "reboot"})


def main() -> int:
    """Run with the command line's arguments."""
    kind, number, action, *rest = sys.argv[1:]
    place = Place(kind, number)
    actions: dict[str, Callable[..., None]] = {
        "mark": lambda name, text="": trouble.put(place.folder, trouble.Mark(name), text),
        "gpu": place.change_gpu,
        "hang": lambda: place.driver.set_faults(hangs=True),
        "mismatch": lambda: place.driver.set_faults(mismatch=[place.ledger_name]),
        "leak": place.leak,
        "log": lambda *lines: log_kernel(place.driver_folder, *lines, about=place.ledger_name),
        "lanes": place.change_lanes,
        "pend": place.pend,
        "ha": place.give_to_ha,
        "lock": place.hold_lock,
        "claim": place.claim,
        "mend": place.mend,
    }
    actions[action](*rest)
    return 0


class Place:
    """A guest of this hypervisor, or this machine itself."""

    def __init__(self, kind: str, number: str) -> None:
        self.guest = None if kind == "bare" else Guest(kind, int(number))
        self.folder = self.guest.folder if self.guest else RUN
        self.driver_folder = self.folder / "driver" if kind == "qemu" else DRIVER_FOLDER
        self.driver = Driver(self.driver_folder)
        self.ledger_name = number if kind == "lxc" else HOST

    def change_gpu(self, minor: str, *changes: str) -> None:
        """Set fields of a GPU's state, each NAME=JSON."""
        pairs = (change.partition("=") for change in changes)
        self.driver.set_state(int(minor), **{name: json.loads(value) for name, _, value in pairs})

    def change_lanes(self, address: str, lanes: str) -> None:
        """How many lanes the PCI bus of this machine shows for one of its devices."""
        Path("/", DEVICES, address, CURRENT_WIDTH).write_text(f"{lanes}\n")

    def pend(self, *lines: str) -> None:
        """Have the guest's next start change its configuration so."""
        assert self.guest  # noqa: S101 - only guests have one
        head = PENDING_HEADS[self.guest.kind]
        rewrite(self.guest.file, "\n".join([self.guest.file.read_text().rstrip("\n"), "", head, *lines, ""]))

    def leak(self, *amounts: str) -> None:
        """GPU memory that only a reset while the guest is stopped gives back; each MINOR:MIB."""
        pairs = (amount.partition(":") for amount in amounts)
        gpu_mib = {int(minor): int(mib) for minor, _, mib in pairs}
        self.driver.ledger.leak(
            guest=self.ledger_name, comm="sglang::scheduler", host_bytes=0, gpu_mib=gpu_mib, until_stop=True
        )

    def give_to_ha(self, state: str = "started") -> None:
        """Have high availability manage the guest, and have it in that state (the form of ha-manager's resources.cfg)."""
        HA_RESOURCES.parent.mkdir(exist_ok=True)
        with HA_RESOURCES.open("a") as file:
            file.write(f"{self._ha_head()}\n\tstate {state}\n\n")

    def claim(self, other: str, minor: str) -> None:
        """Give one of this container's GPUs to another container too."""
        file = Guest("lxc", int(other)).file
        rewrite(file, f"{file.read_text()}{_CLAIM}: /dev/nvidia{minor}\n")

    def hold_lock(self) -> None:
        """Hold the lock that every changing command takes, in a process of its own, until mended."""
        assert self.guest  # noqa: S101 - only guests have one
        path = lock_path(self.guest)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            child = os.fork()
            if child == 0:
                tool = "pct" if self.guest.kind == "lxc" else "qm"
                _sleep_for_ever(f"/usr/bin/perl -T /usr/sbin/{tool} set {self.guest.id} --onboot 1")
        (self.folder / _HOLDER).write_text(str(child))

    def mend(self) -> None:
        """Undo everything above, and have the guest up. Raises TimeoutError."""
        if self.guest:
            _kill(_changing(self.guest.id))
        _kill(_noted(self.folder / _HOLDER))
        self._mend_driver()
        if not self.guest:
            trouble.remove_all(self.folder)
            return
        vzdump.end(self.guest)
        if self.guest.kind == "qemu":
            forget_lines(DRIVER_FOLDER, HOST)  # the hypervisor's own, which has no GPUs
        self._mend_configuration(self.guest)
        self._mend_power(self.guest)

    def _mend_driver(self) -> None:
        _kill(_asking_in_vain())
        self.driver.set_faults(**vars(Faults()))
        for width in Path("/", DEVICES).glob(f"*/{CURRENT_WIDTH}"):
            width.write_text(f"{LANES}\n")
        forgotten = forget_lines(self.driver_folder, self.ledger_name)
        for gpu in self.driver.gpus():
            if gpu.minor in self._minors():
                self.driver.heal(gpu.minor)
                self._end_xids(gpu, forgotten)
        self.driver.ledger.clear(self.ledger_name)
        if self.driver.gpus() and PID_FILE.exists():
            _kill(_noted(PID_FILE))
            for gpu in self.driver.gpus():
                self.driver.set_state(gpu.minor, persistence=True)

    def _end_xids(self, gpu: Gpu, forgotten: Iterable[str]) -> None:
        """Whoever has seen them remembers them, also when the log does not: a reset ends them."""
        address = gpu.bdf[4:].lower()
        if any("Xid" in line and address.removesuffix(".0") in line for line in forgotten):
            log_kernel(self.driver_folder, f"nvidia {address}: reset done")

    def _minors(self) -> Iterable[int]:
        return read_spec(self.folder).devices

    def _mend_configuration(self, found: Guest) -> None:
        before, head, _ = found.file.read_text().partition(f"\n{PENDING_HEADS[found.kind]}\n")
        if head:
            rewrite(found.file, before)
        for other in guests("lxc"):
            lines = other.file.read_text().splitlines(keepends=True)
            kept = [line for line in lines if not line.startswith(f"{_CLAIM}:")]
            if kept != lines:
                rewrite(other.file, "".join(kept))
        if HA_RESOURCES.exists():
            before, head, after = HA_RESOURCES.read_text().partition(f"{self._ha_head()}\n")
            rewrite(HA_RESOURCES, before + (after.partition("\n\n")[2] if head else ""))

    def _mend_power(self, found: Guest) -> None:
        was_dead = trouble.has(self.folder, trouble.Mark.DEAD)
        trouble.remove_all(self.folder)
        power = Power(self.folder)
        if found.kind == "qemu" and power.is_held and not (found.pid() and power.wanted()):
            _kill(_noted(self.folder / PROCESS))
            _await(lambda: not power.is_held)
        stop, start = (pct.stop, pct.start) if found.kind == "lxc" else (qm_power.stop, qm_power.start)
        if was_dead and found.pid():
            stop([str(found.id)])
        if not found.pid():
            start([str(found.id)])
        _await((self.folder / READY).exists)

    def _ha_head(self) -> str:
        assert self.guest  # noqa: S101 - only guests have one
        return f"{'ct' if self.guest.kind == 'lxc' else 'vm'}: {self.guest.id}"


def _sleep_for_ever(title: str) -> None:
    os.setsid()
    quiet = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    set_title(title)
    while True:
        signal.pause()


def _changing(number: int) -> Iterator[int]:
    """Commands that are changing that guest, or wait to: a stop that never comes back, a start behind a lock."""
    for pid, argv in _processes():
        tool = [Path(word).name in {"pct", "qm"} for word in argv[:3]]
        if True in tool and str(number) in argv and _CHANGES.intersection(argv) and pid != os.getpid():
            yield pid


def _asking_in_vain() -> Iterator[int]:
    """Every nvidia-smi that does not come back."""
    for pid, argv in _processes():
        if any(Path(word).name == "nvidia-smi" for word in argv[:3]):
            yield pid


def _processes() -> Iterator[tuple[int, list[str]]]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            yield int(process.name), words


def _noted(path: Path) -> list[int]:
    """The process whose pid a file tells; the file goes."""
    if not path.exists():
        return []
    pid = int(path.read_text())
    path.unlink()
    return [pid]


def _kill(pids: Iterable[int]) -> None:
    """SIGKILL, and wait until they are gone."""
    for pid in list(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            _await(partial(_is_gone, pid))


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _await(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError("the lab's own repair does not take hold")
        time.sleep(0.02)
