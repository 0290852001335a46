"""What a command really writes to a terminal, and how much memory it took."""

import os
import pty
import re
import select
import time
from dataclasses import dataclass

from command_line import CommandLine, clean_environment

# What Rich draws with: colours, the cursor's visibility, erasing a line and going up one, a new line's return.
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[012]?K|\x1b\[[0-9]*A|\r")
"""What the program itself may move a terminal with."""


@dataclass(frozen=True)
class Measured:
    """How a command line ended, what it wrote, and what it took."""

    status: int
    written: str
    took_s: float
    most_mib: float

    @property
    def without_colours(self) -> str:
        """What was written, less what the program itself draws with."""
        return OWN.sub("", self.written)


def on_a_terminal(fleetops: CommandLine, *words: str, limit_s: float = 150) -> Measured:
    """Run it with a terminal as its three streams."""
    began = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(fleetops.cwd)
        argv = fleetops.argv(*words)
        os.execve(argv[0], argv, clean_environment() | {"TERM": "xterm-256color"})
    written = _read_all(terminal, began + limit_s)
    os.close(terminal)
    _, status, usage = os.wait4(pid, 0)
    return Measured(
        os.waitstatus_to_exitcode(status),
        written.decode("utf-8", "backslashreplace"),
        time.monotonic() - began,
        usage.ru_maxrss / 1024,
    )


def _read_all(terminal: int, until: float) -> bytes:
    pieces = []
    while select.select([terminal], [], [], max(until - time.monotonic(), 0))[0]:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)


def piped(fleetops: CommandLine, *words: str) -> Measured:
    """Run it with its output in a file, standard error after standard output."""
    began = time.monotonic()
    out, err = fleetops.cwd / "said-out", fleetops.cwd / "said-err"
    pid = os.posix_spawn(
        fleetops.argv(*words)[0],
        fleetops.argv(*words),
        clean_environment(),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, str(err), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ],
    )
    _, status, usage = os.wait4(pid, 0)
    written = out.read_bytes() + err.read_bytes()
    return Measured(
        os.waitstatus_to_exitcode(status),
        written.decode("utf-8", "backslashreplace"),
        time.monotonic() - began,
        usage.ru_maxrss / 1024,
    )
