"""What a command really writes to a terminal, and how much memory it took."""

import os
import pty
import re
import select
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

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
    return measured(fleetops.argv(*words), fleetops.cwd)


def measured(argv: list[str], folder: Path) -> Measured:
    """Run an argv, its output kept in this folder. Memory is its own at the most, not what it was forked from."""
    began, most_mib = time.monotonic(), 0.0
    out, err = folder / "said-out", folder / "said-err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=clean_environment()
        )
        while process.poll() is None:
            most_mib = max(most_mib, _most_mib(process.pid))
            time.sleep(0.02)
    written = out.read_bytes() + err.read_bytes()
    took_s = time.monotonic() - began
    return Measured(process.returncode, written.decode("utf-8", "backslashreplace"), took_s, most_mib)


def _most_mib(pid: int) -> float:
    """VmHWM; nothing for one that has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
