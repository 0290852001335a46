"""vLLM's processes as a live server of 0.32.0 has them, and as other releases do."""

from typing import Any

from node_scenes import process

from fleetops.model.engine import ServiceRecord
from fleetops.model.machine import Process

PID, CORE_PID = 11846, 15443
PORT = 8000
COMMAND = (
    "python3", "-m", "vllm.entrypoints.cli.main", "serve", "/models/small", "--tensor-parallel-size", "2",
    "--port", "8000",
)  # fmt: skip
SPAWNED = (
    "/usr/bin/python3", "-B", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=30, pipe_handle=41)",
    "--multiprocessing-fork",
)  # fmt: skip
TRACKER = ("/usr/bin/python3", "-B", "-c", "from multiprocessing.resource_tracker import main;main(32)")
RECORD = ServiceRecord(
    profile="vllm-small", run_id="20261129-1402-node-190", pid=PID, start_ticks=10_000 + PID, port=PORT,
    log="/root/vllm.log", engine="vllm",
)  # fmt: skip


def server(**fields: Any) -> Process:
    return process(PID, "python3", *COMMAND, **fields)


def member(pid: int, comm: str, *cmdline: str, ppid: int, **fields: Any) -> Process:
    """In the server's group and session, which outlive it."""
    return process(pid, comm, *cmdline, ppid=ppid, pgid=PID, sid=PID, **fields)


def tracker(ppid: int = PID) -> Process:
    return member(15442, "python3", *TRACKER, ppid=ppid)


def core(ppid: int = PID, **fields: Any) -> Process:
    return member(CORE_PID, "VLLM::EngineCor", "VLLM::EngineCore", ppid=ppid, **fields)


def worker(number: int, **fields: Any) -> Process:
    settled = {"ppid": CORE_PID, **fields}
    return member(17848 + number, "VLLM::Worker_TP", f"VLLM::Worker_TP{number}", **settled)


def untitled(pid: int, ppid: int) -> Process:
    return member(pid, "python3", *SPAWNED, ppid=ppid)


def two_ranks() -> tuple[Process, ...]:
    """Everything of a healthy server."""
    return server(), tracker(), core(), worker(0), worker(1)


def orphans() -> tuple[Process, ...]:
    """What a SIGKILL of the server leaves: all but itself, the engine core and the tracker under PID 1."""
    return tracker(1), core(1), worker(0), worker(1)
