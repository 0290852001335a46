"""What the lab itself does on a node, past any operator: look at its services, clear them away, leak memory.

Runs inside the host, on the standard library alone: `care look`, `care clear`, `care leak MINOR:MIB ...`.
"""

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from fleetops.lab.driver import Driver, Ledger, current_guest
from fleetops.lab.engine.places import Places, places

_SEGMENTS = ("nccl-*", "psm_*", "sgl_shm_*")
_GONE_S = 10.0


@dataclass(frozen=True)
class Seen:
    """One process of a service. `threads` counts those that live; a zombie leader may have some."""

    pid: int
    ppid: int
    state: str
    threads: int
    comm: str

    @property
    def is_rank(self) -> bool:
        """A scheduler process, dead or alive."""
        return self.comm.startswith("sglang::schedul")


def look() -> list[Seen]:
    """Every process of every service on this host: launchers by command line, the rest by name."""
    numbers = sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    found = []
    for pid in numbers:
        with contextlib.suppress(OSError):
            seen = _see(Path("/proc") / str(pid))
            if seen:
                found.append(seen)
    return found


def clear(where: Places) -> None:
    """End every service and take all it left away, leaked memory included. Raises TimeoutError."""
    deadline = time.monotonic() + _GONE_S
    while left := look():
        for seen in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(seen.pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise TimeoutError(f"still there: {left}")
        time.sleep(0.02)
    for pattern in _SEGMENTS:
        for path in where.shm.glob(pattern):
            path.unlink(missing_ok=True)
    ledger = Ledger(where.driver)
    ledger.clear(current_guest())


def leak(where: Places, amounts: dict[int, int]) -> None:
    """GPU memory that nobody holds and that only a reset frees, as a driver leaves it after a hard death."""
    known = {gpu.minor for gpu in Driver(where.driver).gpus()}
    if not set(amounts) <= known:
        raise ValueError(f"no such GPU: {sorted(set(amounts) - known)}")
    Ledger(where.driver).leak(guest=current_guest(), comm="sglang::scheduler", host_bytes=0, gpu_mib=amounts)


def main() -> int:
    """The command line."""
    action, *rest = sys.argv[1:]
    where = places()
    if action == "look":
        print(json.dumps([asdict(seen) for seen in look()]))
    elif action == "clear":
        clear(where)
    elif action == "leak":
        leak(where, {int(minor): int(mib) for minor, _, mib in (each.partition(":") for each in rest)})
    else:
        print(f"no such action: {action}", file=sys.stderr)
        return 2
    return 0


def _see(process: Path) -> Seen | None:
    name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
    fields = rest.split()
    launches = _is_launch((process / "cmdline").read_bytes().split(b"\0"))
    if not (launches or name.startswith("sglang::")) or int(process.name) == os.getpid():
        return None
    threads = sum(_lives(task) for task in (process / "task").iterdir())
    return Seen(int(process.name), int(fields[1]), fields[0], threads, name)


def _is_launch(argv: list[bytes]) -> bool:
    """`python3 -m sglang.launch_server ...`, or `.../sglang serve ...`."""
    return b"sglang.launch_server" in argv or any(
        program.endswith(b"/sglang") and argument == b"serve" for program, argument in pairwise(argv)
    )


def _lives(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
