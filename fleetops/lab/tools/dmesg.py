"""dmesg: the lab's own kernel log. `-T` shows the time of day, `-r` the level of each line, as there."""

import sys
import time

from fleetops.lab.driver import DRIVER_FOLDER
from fleetops.lab.kernel_log import kernel_lines

_OPTIONS = frozenset({"-T", "--ctime", "--nopager", "-P", "-r", "--raw"})
_FIRST = (0.0, "Linux version of the lab")
_NOTICE, _WARNING = 5, 4


def main(words: list[str]) -> int:
    """Run with the words after the command's name."""
    options = set(words)
    if options - _OPTIONS:
        print(f"dmesg: the lab's knows only {' '.join(sorted(_OPTIONS))}", file=sys.stderr)
        return 1
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    for stamp, text in (_FIRST, *kernel_lines(DRIVER_FOLDER)):
        when = time.ctime(booted + stamp) if options & {"-T", "--ctime"} else f"{stamp:12.6f}"
        level = f"<{_WARNING if stamp else _NOTICE}>" if options & {"-r", "--raw"} else ""
        print(f"{level}[{when}] {text}")
    return 0
