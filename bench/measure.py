"""One process from start to end: wall, CPU, memory, threads, and what it printed."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from bench.processes import Held, held, kill, tree

# Looked at rarely, because whoever looks takes CPU from what is measured; early, because some end soon.
_FIRST_LOOK_S, _EACH_LOOK_S, _SHARE = 0.01, 0.15, 0.05


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """A program to be started. Its environment is exactly this: nothing of the caller's own leaks into a figure."""

    argv: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)
    stdin: Path = Path(os.devnull)
    deadline_s: float = 300.0


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How it ended. `began_at` is the wall clock's time of the start (seconds since the epoch)."""

    status: int
    stdout: str
    stderr: str
    began_at: float
    wall_s: float
    cpu_s: float
    peak_bytes: int
    threads: int
    processes: int
    timed_out: bool

    @property
    def last_words(self) -> str:
        """The end of what it said, for a message."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return lines[-1][:200] if lines else "it said nothing"


def run(invocation: Invocation) -> Finished:
    """Run it to its end or its deadline. It has a session of its own, so that all of it can be ended.

    The CPU is what wait4(2) says: the process's own and that of all it waited for. Memory is sampled, as the PSS of the
    whole tree, and 0 for a run too short for that: the largest RSS of wait4 is no substitute, since it begins with what
    this process itself held when it forked.
    """
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        invocation.stdin.open("rb") as given,
    ):
        began_at, began = time.time(), time.monotonic()
        process = subprocess.Popen(
            list(invocation.argv),
            env=dict(invocation.environ),
            stdin=given,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        with _watched(process.pid, began + invocation.deadline_s) as watch:
            _, status, used = os.wait4(process.pid, 0)
            wall_s = time.monotonic() - began
            # Popen would wait for it as well.
            process.returncode = os.waitstatus_to_exitcode(status)
        return Finished(
            status=process.returncode,
            stdout=_text(out),
            stderr=_text(err),
            began_at=began_at,
            wall_s=wall_s,
            cpu_s=used.ru_utime + used.ru_stime,
            peak_bytes=watch.most.pss_bytes,
            threads=max(watch.most.threads, 1),
            processes=max(watch.most.processes, 1),
            timed_out=watch.timed_out,
        )


def run_within(invocation: Invocation, left_s: float) -> Finished:
    """The same, ended earlier where less time is left."""
    return run(replace(invocation, deadline_s=min(invocation.deadline_s, left_s)))


class _Watch:
    """Looks at a process tree every so often, and ends it at its deadline."""

    def __init__(self, pid: int, until: float) -> None:
        self.most = Held(0, 0, 0)
        self.timed_out = False
        self._pid = pid
        self._until = until
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        pause_s = _FIRST_LOOK_S
        while not self._over.wait(pause_s):
            began = time.monotonic()
            seen = held(tree(self._pid))
            pause_s = max(min(pause_s * 2, _EACH_LOOK_S), (time.monotonic() - began) / _SHARE)
            self.most = Held(*map(max, self.most, seen))
            if time.monotonic() > self._until:
                self.timed_out = True
                end_session(self._pid)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@contextlib.contextmanager
def _watched(pid: int, until: float) -> Iterator[_Watch]:
    """Whatever happens meanwhile, an interrupt included, the process does not outlive this."""
    watch = _Watch(pid, until)
    watch.begin()
    try:
        yield watch
    except BaseException:
        end_session(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise
    finally:
        watch.end()


def end_session(pid: int) -> None:
    """End the leader of a session that this benchmark made, and everything below it."""
    below = list(tree(pid))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    kill(below[1:])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
