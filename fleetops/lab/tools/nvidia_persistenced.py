"""nvidia-persistenced: keeps every GPU open whose persistence mode is on, as its own client of the driver.

`nvidia-smi -pm` reaches it through the driver's state; with its end persistence mode is over (its man page).
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import IO

from fleetops.lab.driver import Driver
from fleetops.lab.engine.kernel import set_title

PID_FILE = Path("/run/nvidia-persistenced/nvidia-persistenced.pid")
_LOOK_S = 0.05
_TITLE = "/usr/bin/nvidia-persistenced --verbose"


def main(_: list[str]) -> int:
    """Go into the background once the devices are held, and stay until SIGTERM."""
    driver = Driver()
    minors = [gpu.minor for gpu in driver.gpus()]
    for minor in minors:
        driver.set_state(minor, persistence=True)
    held: dict[str, IO[bytes]] = {"nvidiactl": _open("nvidiactl")}
    _hold(driver, minors, held)
    if os.fork():
        os._exit(0)
    _go_into_background()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        while True:
            _hold(driver, minors, held)
            time.sleep(_LOOK_S)
    finally:
        for minor in minors:
            driver.set_state(minor, persistence=False)
        PID_FILE.unlink(missing_ok=True)


def _go_into_background() -> None:
    os.setsid()
    quiet = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    set_title(_TITLE)
    Path("/proc/self/comm").write_text("nvidia-persiste")
    PID_FILE.parent.mkdir(exist_ok=True)
    PID_FILE.write_text(f"{os.getpid()}\n")


def _hold(driver: Driver, minors: list[int], held: dict[str, IO[bytes]]) -> None:
    for minor in minors:
        name = f"nvidia{minor}"
        if driver.state(minor).persistence:
            if name not in held:
                held[name] = _open(name)
        elif name in held:
            held.pop(name).close()


def _open(name: str) -> IO[bytes]:
    return Path("/dev", name).open("r+b", buffering=0)
