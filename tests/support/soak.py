"""Many sweeps in a row by the real command line, and what its process holds meanwhile: memory, threads, file descriptors."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import CommandLine

# Until then caches fill: proofs, connections, compiled patterns.
SETTLED = 6


@dataclass(frozen=True)
class Held:
    """What a process holds after so many sweeps."""

    sweeps: int
    rss_bytes: int
    threads: int
    descriptors: int
    seconds: float


def soak(command: CommandLine, sweeps: int, *hosts: str, each: int = 1) -> Iterator[Held]:
    """Samples after every `each` sweeps; the process is ended politely after the last, and must end as told."""
    with command.start("sweep", *hosts, "--every", "0.01s", "--json") as going:
        assert going.stdout
        try:
            for number in range(1, sweeps + 1):
                line = going.stdout.readline()
                assert line, going.communicate()[1]
                if number % each == 0:
                    yield _held(going, number, json.loads(line)["seconds"])
        finally:
            going.send_signal(signal.SIGTERM)
            _, said = going.communicate(timeout=90)
    assert going.returncode == 130, said


def _held(process: "subprocess.Popen[str]", number: int, seconds: float) -> Held:
    folder = Path("/proc", str(process.pid))
    pages = int((folder / "statm").read_text().split()[1])
    return Held(
        sweeps=number,
        rss_bytes=pages * os.sysconf("SC_PAGE_SIZE"),
        threads=len(list((folder / "task").iterdir())),
        descriptors=len(list((folder / "fd").iterdir())),
        seconds=seconds,
    )
