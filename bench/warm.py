"""Connections that are there before the clock starts: ControlMasters, and drivers that keep theirs."""

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from bench.contestants.base import WIDTH, Task, lines_ending
from bench.contestants.fabric import fabric
from bench.contestants.xargs_ssh import xargs_ssh
from bench.entries import sample_of
from bench.errors import DidNotStart
from bench.fleet import ROOT, Fleet, batched
from bench.measure import Invocation, end_session, run_within
from bench.model import Sample
from bench.processes import children, held, main_thread_cpu_s, own_cpu_s, tree
from bench.rounds import Entry

FLEETOPS, MASTER, FABRIC = "fleetops, warm", "ControlMaster, warm", "fabric, pool of 32, warm"

_OPEN_S, _LOOK_S = 120.0, 0.02

Process = subprocess.Popen[bytes]


@contextmanager
def control_master(fleet: Fleet, task: Task) -> Iterator[Entry]:
    """`xargs -P32 ssh` over a master for each host. The masters' own CPU and memory count, their start does not.

    Raises DidNotStart where one cannot be opened.
    """
    sockets = fleet.folder / "cm"
    sockets.mkdir()
    path = ("-o", f"ControlPath={sockets}/%h")
    masters: list[Process] = []

    def once(left_s: float) -> Sample:
        before_s = sum(main_thread_cpu_s(master.pid) for master in masters)
        finished = run_within(xargs_ssh(fleet, task.line, fleet.ssh_config_curve25519, *path), left_s)
        answered = lines_ending(finished, task.expected)
        sample = sample_of(finished, hosts=len(fleet.addresses), answered=answered)
        spent_s = sum(main_thread_cpu_s(master.pid) for master in masters) - before_s
        stays_bytes = held(master.pid for master in masters).pss_bytes
        return replace(sample, cpu_s=sample.cpu_s + spent_s, peak_bytes=sample.peak_bytes + stays_bytes)

    try:
        for group in batched(fleet.addresses, WIDTH):
            new = {sockets / address: _master(fleet, address, path) for address in group}
            masters += new.values()
            _await_sockets(new)
        yield Entry(name=MASTER, run=once, note="a master for each host stays")
    finally:
        _end(masters)


def _master(fleet: Fleet, address: str, path: Sequence[str]) -> Process:
    argv = ["ssh", "-F", str(fleet.ssh_config_curve25519), "-o", "ControlMaster=yes", *path, "-N", address]
    return subprocess.Popen(
        argv, env=fleet.environ(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )


def _await_sockets(masters: dict[Path, Process]) -> None:
    until = time.monotonic() + _OPEN_S
    for socket, master in masters.items():
        while not socket.exists():
            if master.poll() is not None or time.monotonic() > until:
                raise DidNotStart(f"no ControlMaster could be opened to {socket.name}")
            time.sleep(_LOOK_S)


def _end(masters: Sequence[Process]) -> None:
    for master in masters:
        master.terminate()
    for master in masters:
        master.wait()


@contextmanager
def fleetops_warm(fleet: Fleet, task: Task) -> Iterator[Entry]:
    """Fleetops' own calls, over connections that the process keeps."""
    argv = [sys.executable, "-m", "bench.drivers.fleetops_warm", str(fleet.inventory), str(WIDTH)]
    environ = fleet.environ(PYTHONPATH=str(ROOT))
    with _driver(FLEETOPS, Invocation(argv=[*argv, *task.words], environ=environ), fleet, task) as entry:
        yield entry


@contextmanager
def fabric_warm(fleet: Fleet, task: Task) -> Iterator[Entry]:
    """A bare pool of Fabric's connections that stay."""
    with _driver(FABRIC, fabric(fleet, task, how="warm"), fleet, task) as entry:
        yield entry


@contextmanager
def _driver(name: str, invocation: Invocation, fleet: Fleet, task: Task) -> Iterator[Entry]:
    """A process that runs the task once for each line that it is given; the first one, which connects, is not timed."""
    log = fleet.folder / f"{invocation.argv[2]}.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(
            list(invocation.argv),
            env=dict(invocation.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            _ask(process, log, _OPEN_S)
            yield Entry(name=name, run=lambda left_s: _timed(process, log, fleet, task, left_s))
        finally:
            end_session(process.pid)


def _timed(process: Process, log: Path, fleet: Fleet, task: Task, left_s: float) -> Sample:
    """The driver says its own CPU; that of processes which it keeps beside itself is read from /proc."""
    before_s = _helpers_cpu_s(process.pid)
    began = time.monotonic()
    hosts = len(fleet.addresses)
    try:
        told = _ask(process, log, left_s)
    except DidNotStart as error:
        return Sample(wall_s=0.0, cpu_s=0.0, hosts=hosts, answered=0, fault=str(error))
    wall_s = time.monotonic() - began
    here = held(tree(process.pid))
    return Sample(
        wall_s=wall_s,
        cpu_s=told["cpu_s"] + _helpers_cpu_s(process.pid) - before_s,
        peak_bytes=here.pss_bytes,
        threads=here.threads,
        processes=here.processes,
        hosts=hosts,
        answered=told["answers"].count(task.expected),
    )


def _helpers_cpu_s(pid: int) -> float:
    return sum(own_cpu_s(one) for child in children(pid) for one in tree(child))


def _ask(process: Process, log: Path, deadline_s: float) -> dict[str, Any]:
    """One round. Raises DidNotStart where no answer comes."""
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    with suppress(BrokenPipeError):  # one that has ended says nothing below
        stdin.write(b"\n")
        stdin.flush()
    readable, _, _ = select.select([stdout], [], [], deadline_s)
    line = stdout.readline() if readable else b""
    if not line:
        raise DidNotStart(f"{log.stem} gave no answer: {log.read_text()[-500:].strip()}")
    told: dict[str, Any] = json.loads(line)
    return told
