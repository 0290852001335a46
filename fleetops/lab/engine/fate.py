"""What becomes of a rank when the host runs out of memory while the pools are being pinned: the incident.

Nothing here is pretended: the kernel's own states are what is left behind.
"""

import os
import signal
import socket
import time
from enum import Enum
from pathlib import Path
from typing import NoReturn

from fleetops.lab.driver import Entry, current_guest
from fleetops.lab.engine import kernel
from fleetops.lab.kernel_log import log_kernel, out_of_memory

_PORT_S = 5.0


class Fate(Enum):
    """How a rank ends.

    KILLED: by SIGKILL, as the kernel's OOM killer does. The launcher does not reap it, and its GPU and host memory
    leaks: only a reset of the GPU gives them back.
    GHOST: its main thread ends while its workers live: a zombie leader that holds memory, files and port.
    STUCK: in the kernel, in D; SIGKILL ends it, nothing else does.
    """

    KILLED = "killed"
    GHOST = "ghost"
    STUCK = "stuck"


def fate_of(number: int, ranks: int) -> Fate:
    """Of eight ranks five are killed, two become ghosts and one sticks.

    Rank 0 is a ghost: the launcher waits for rank 0's word on a pipe that the ghost keeps open, and so hangs.
    """
    if number == 0 or (ranks >= 4 and number == ranks - 3):
        return Fate.GHOST
    return Fate.STUCK if number == ranks - 1 else Fate.KILLED


def meet(fate: Fate, entry: Entry, port: socket.socket | None, driver: Path) -> NoReturn:
    """Go the way of that fate."""
    if fate is Fate.KILLED:
        entry.set(leak=True)
        guest = current_guest()
        told = out_of_memory(os.getpid(), kernel.name(), kernel.resident_kb(), guest=guest)
        log_kernel(driver, *told, about=guest)
        os.kill(os.getpid(), signal.SIGKILL)
    if fate is Fate.GHOST:
        become_ghost(port)
    kernel.ignore_polite_signals()
    kernel.when_parent_dies(0)
    kernel.wait_in_kernel()


def become_ghost(port: socket.socket | None) -> NoReturn:
    """End the main thread alone; the workers keep what the process has, the port included."""
    kernel.ignore_polite_signals()
    kernel.when_parent_dies(0)
    deadline = time.monotonic() + _PORT_S
    while port:
        try:
            port.listen(1)
            break
        except OSError:  # the launcher, which is going down, has not let go of it yet
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
    kernel.end_this_thread()
