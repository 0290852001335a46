"""The lab's machines, as its supervisor switches them: bare metal is always on, a VM as long as its kvm wants it."""

import contextlib
import logging
import os
import signal
import subprocess
import uuid
from pathlib import Path

from fleetops.lab.disk import python_program
from fleetops.lab.driver import Driver
from fleetops.lab.fleet import LabHost
from fleetops.lab.paths import Layout
from fleetops.lab.power import Power
from fleetops.lab.spec import INIT_PID, READY, python_command

log = logging.getLogger("fleetops.lab")
_END_S = 10.0


class Machine:
    """A host that is no container: its process, started again when it ends."""

    def __init__(self, layout: Layout, host: LabHost) -> None:
        self._name = host.name
        self._folder = layout.run(host.name)
        self._process: subprocess.Popen[bytes] | None = None

    def follow(self) -> None:
        """Bring the machine into the state that it should be in."""
        if self._ended_by_itself() or self._process is None:
            self._start()

    def _ended_by_itself(self) -> bool:
        if self._process is None or self._process.poll() is None:
            return False
        log.info("%s has ended with status %s", self._name, self._process.returncode)
        self._process = None
        return True

    def _start(self) -> None:
        library = str(Path(__file__).parent.parent.parent)
        argv = [*python_command(python_program(), "fleetops.lab.host", library), str(self._folder)]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)


class VirtualMachine(Machine):
    """A host that runs while a kvm process on its hypervisor wants it to: one run for each boot that it asks for."""

    def __init__(self, layout: Layout, host: LabHost) -> None:
        super().__init__(layout, host)
        self._power = Power(self._folder)
        self._boot = ""

    def follow(self) -> None:
        """Follow kvm; tell it where the guest has ended by itself."""
        wanted = self._power.wanted()
        if self._ended_by_itself():
            self._power.tell_halted(self._boot)
        if wanted == self._boot:
            return
        self._cut_off()
        self._boot = wanted
        if wanted:
            (self._folder / "kernel/boot_id").write_text(f"{uuid.uuid4()}\n")
            Driver(self._folder / "driver").reload()
            self._start()

    def _cut_off(self) -> None:
        """End everything in it at once, as a machine without power does."""
        if self._process is not None:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, subprocess.TimeoutExpired):
                os.kill(int((self._folder / INIT_PID).read_text()), signal.SIGKILL)
                self._process.wait(_END_S)  # it ends when all of its host has
            self._process.kill()
            self._process.wait()
            self._process = None
        for left in (INIT_PID, READY):
            (self._folder / left).unlink(missing_ok=True)


def machine(layout: Layout, host: LabHost) -> Machine:
    """The right kind for a host."""
    return VirtualMachine(layout, host) if host.kind == "vm" else Machine(layout, host)
