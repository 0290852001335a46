"""dmesg: the lab's own kernel log. `-T` shows the time of day, as there."""

import sys
import time

from fleetops.lab.driver import DRIVER_FOLDER
from fleetops.lab.kernel_log import kernel_lines

_OPTIONS = frozenset({"-T", "--ctime", "--nopager", "-P"})


def main() -> int:
    """Run with the command line's arguments."""
    options = set(sys.argv[1:])
    if options - _OPTIONS:
        print(f"dmesg: the lab's knows only {' '.join(sorted(_OPTIONS))}", file=sys.stderr)
        return 1
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    for stamp, text in kernel_lines(DRIVER_FOLDER):
        when = time.ctime(booted + stamp) if options & {"-T", "--ctime"} else f"{stamp:12.6f}"
        print(f"[{when}] {text}")
    return 0
