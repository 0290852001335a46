"""kvm, as far as its hypervisor sees it: a process that holds a VM's power and answers QMP. Standard library only.

Started by `qm start` as `emulator ID NAME MEMORY`; it goes into the background when the guest may boot, and exits
with 1 where another kvm process still has the VM's devices.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from fleetops.lab import trouble
from fleetops.lab.engine.kernel import ignore_polite_signals, set_title, wait_in_kernel
from fleetops.lab.power import Power
from fleetops.lab.spec import BUTTON, RUN

STATE = Path("/run/qemu-server")
PROCESS = "kvm.pid"
_LOOK_S = 0.05
_BUSY = "kvm: -device vfio-pci,host={}: vfio {}: failed to open /dev/vfio/65: Device or resource busy"


def main() -> int:
    """Run with the command line's arguments."""
    number, name, memory = sys.argv[1:4]
    power = Power(RUN / "vms" / number)
    try:
        with power.held() as held:
            begun, begins = os.pipe()
            if os.fork() == 0:
                os.close(begun)
                _run(Emulator(number, power, held), name, memory, begins)
            os.close(begins)
            return 0 if os.read(begun, 1) else 1
    except BlockingIOError:
        device = "0000:41:00.0"
        print(_BUSY.format(device, device), file=sys.stderr)
        return 1


def _run(kvm: "Emulator", name: str, memory: str, begins: int) -> NoReturn:
    os.setsid()
    quiet = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    words = ("/usr/bin/kvm", "-id", kvm.number, "-name", f"{name},debug-threads=on", "-m", memory)
    set_title("\0".join(words))
    Path("/proc/self/comm").write_text("kvm")
    kvm.begin()
    os.write(begins, b"!")
    os.close(begins)
    kvm.serve()
    os._exit(0)


class Emulator:
    """One kvm process."""

    def __init__(self, number: str, power: Power, held: int) -> None:
        self.number = number
        self._power = power
        self._held = held
        self._boot = ""
        self._files = [STATE / f"{number}.pid", STATE / f"{number}.qmp"]
        self._socket = socket.socket(socket.AF_UNIX)
        self._folder = RUN / "vms" / number

    def begin(self) -> None:
        """Write the pid down, open the monitor and let the guest boot."""
        STATE.mkdir(exist_ok=True)
        signal.signal(signal.SIGTERM, lambda *_: self.quit())
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files[0].write_text(f"{os.getpid()}\n")
        (self._folder / PROCESS).write_text(f"{os.getpid()}\n")
        self._socket.bind(str(self._files[1]))
        self._socket.listen()
        self._socket.settimeout(_LOOK_S)
        self._boot = self._power.want(self._held, on=True)

    def serve(self) -> None:
        """Answer the monitor until told to quit, or until the guest has powered itself off."""
        while not self._power.has_halted(self._boot):
            with contextlib.suppress(TimeoutError, ValueError, ConnectionError):
                connection, _ = self._socket.accept()
                with connection:
                    self._answer(connection)
        self.quit()

    def _answer(self, connection: socket.socket) -> None:
        asked = json.loads(connection.recv(4096))["execute"]
        connection.sendall(b'{"return": {}}\n')
        if asked == "quit":
            self.quit()
        elif asked == "system_powerdown":
            (self._folder / BUTTON).touch()
        elif asked == "system_reset":
            self._boot = self._power.want(self._held, on=True)

    def quit(self) -> NoReturn:
        """The guest is off at once; the process ends, or hangs in the kernel where its stop is to lie."""
        self._power.want(self._held, on=False)
        if trouble.has(self._folder, trouble.Mark.STOP_LIES):
            ignore_polite_signals()
            wait_in_kernel()
        for path in self._files:
            path.unlink(missing_ok=True)
        os._exit(0)


def ask(number: int, command: str, timeout_s: float = 2.0) -> None:
    """Send a command to a VM's monitor. Raises OSError where it does not answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(timeout_s)
        client.connect(str(STATE / f"{number}.qmp"))
        client.sendall(json.dumps({"execute": command}).encode() + b"\n")
        if not client.recv(4096):
            raise ConnectionError("the monitor closed the connection")
