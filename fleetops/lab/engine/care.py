"""What the lab itself does on a node, past any operator: look at its services, clear them away, break things.

Runs inside the host, on the standard library alone: `care look`, `care clear`, `care leak MINOR:MIB ...`, `care spawn
ARGV...`, `care order FAULT`, `care fill FOLDER`, `care use-inodes FOLDER`, `care give-back SECONDS`.
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from fleetops.lab.driver import Driver, Ledger, current_guest
from fleetops.lab.engine import kernel, traces
from fleetops.lab.engine.places import Places, places

_SEGMENTS = ("nccl-*", "psm_*", "sgl_shm_*")
TITLES = ("sglang::", "VLLM::")
_RANKS = ("sglang::schedul", "VLLM::Worker")
_MODULES = {b"sglang.launch_server", b"vllm.entrypoints.cli.main", b"vllm.entrypoints.openai.api_server"}
_GONE_S = 10.0
_LOOK_S = 0.1


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
        """A scheduler or worker process, dead or alive."""
        return self.comm.startswith(_RANKS)


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
    """End every service and take all it left away, leaked memory and breakages' own traces included.

    Raises TimeoutError.
    """
    traces.undo()
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


def give_back(where: Places, after_s: float) -> None:
    """Wait until no service is left, and so long again; then the memory that outlived it is free.

    As a kernel that unpins hundreds of gigabytes page by page.
    """
    kernel.set_title("lab-unpinning")
    while look():
        time.sleep(_LOOK_S)
    time.sleep(after_s)
    Ledger(where.driver).clear(current_guest())


def main() -> int:
    """The command line."""
    action, *rest = sys.argv[1:]
    where = places()
    actions: dict[str, Callable[[], None]] = {
        "look": lambda: print(json.dumps([asdict(seen) for seen in look()])),
        "clear": lambda: clear(where),
        "leak": lambda: leak(
            where, {int(minor): int(mib) for minor, _, mib in (each.partition(":") for each in rest)}
        ),
        "spawn": lambda: print(traces.spawn(rest)),
        "order": lambda: traces.order(*rest),
        "fill": lambda: traces.fill(Path(*rest)),
        "use-inodes": lambda: traces.use_inodes(Path(*rest)),
        "give-back": lambda: give_back(where, float(*rest)),
    }
    if action not in actions:
        print(f"no such action: {action}", file=sys.stderr)
        return 2
    actions[action]()
    return 0


def _see(process: Path) -> Seen | None:
    name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
    fields = rest.split()
    launches = _is_launch((process / "cmdline").read_bytes().split(b"\0"))
    if not (launches or name.startswith(TITLES)) or int(process.name) == os.getpid():
        return None
    threads = sum(_lives(task) for task in (process / "task").iterdir())
    return Seen(int(process.name), int(fields[1]), fields[0], threads, name)


def _is_launch(argv: list[bytes]) -> bool:
    """`python3 -m sglang.launch_server ...`, or `.../sglang serve ...`, and vLLM's likewise."""
    return not _MODULES.isdisjoint(argv) or any(
        program.endswith((b"/sglang", b"/vllm")) and argument == b"serve"
        for program, argument in pairwise(argv)
    )


def _lives(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
