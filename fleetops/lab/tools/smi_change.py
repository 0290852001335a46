"""What nvidia-smi changes: persistence mode, and the GPU reset with its refusals.

Texts and exit statuses are those of recorded calls (samples reset_all8_ok and reset_in_use_exit255; nvidia-smi's
manual for the statuses). Persistence mode counts as a client: nvidia-persistenced keeps the device open.
"""

import os
import sys
from collections.abc import Sequence

from fleetops.lab.driver import Driver
from fleetops.lab.tools.smi_view import View, in_container, stopped_guests, users

NO_PERMISSION = 4
OTHER = 255
_IN_USE = """\

{number} currently being used by one or more other processes (e.g. Fabric
Manager, CUDA application, graphics application such as an X server, or a
monitoring application such as another instance of nvidia-smi). Please first kill
all processes using this device and all compute applications running in the
system.
"""


def set_persistence(driver: Driver, shown: Sequence[View], *, on: bool) -> int:
    """`-pm 0|1`."""
    if not _may_change():
        return _refuse("set the persistence mode of")
    for view in shown:
        before = "Enabled" if view.state.persistence else "Disabled"
        after = "Enabled" if on else "Disabled"
        driver.set_state(view.gpu.minor, persistence=on)
        if before == after:
            print(f"Persistence mode is already {after} for GPU {view.gpu.bdf}.")
        else:
            print(f"{after} persistence mode for GPU {view.gpu.bdf}.")
    print("All done.")
    return 0


def reset(driver: Driver, shown: Sequence[View]) -> int:
    """`--gpu-reset`. None is reset where any is in use."""
    if not _may_change():
        return _refuse("reset")
    busy = [view for view in shown if view.state.persistence or users(view.gpu)]
    if busy:
        print("The following GPUs could not be reset:")
        for view in busy:
            print(f"  GPU {view.gpu.bdf}: In use by another client")
        print(_IN_USE.format(number="1 device is" if len(busy) == 1 else f"{len(busy)} devices are"), end="")
        return OTHER
    done = driver.reset((view.gpu.minor for view in shown), stopped=stopped_guests())
    failed = [view.gpu.bdf for view in shown if view.gpu.minor not in done]
    for view in shown:
        if view.gpu.minor in done:
            print(f"GPU {view.gpu.bdf} was successfully reset.")
    if failed:  # the form of the refusal above, with NVML's word for an error without a name
        print("The following GPUs could not be reset:")
        print("".join(f"  GPU {bdf}: Unknown Error\n" for bdf in failed))
        return OTHER
    print("All done.")
    return 0


def _may_change() -> bool:
    return os.geteuid() == 0 and not in_container()


def _refuse(what: str) -> int:
    print(f"Unable to {what} the GPU: Insufficient Permissions", file=sys.stderr)
    return NO_PERMISSION
