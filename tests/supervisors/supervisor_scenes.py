"""Nodes on which something starts the service again, as facts would tell of them."""

from dataclasses import replace
from typing import Any

from node_scenes import LAUNCHER_PID, observe, process, service_processes

from fleetops.engines.attribution import Attribution, attribute
from fleetops.model.machine import Process
from fleetops.model.supervisor import SUPERVISORS, Container, Supervisors, Terminal, Unit

SERVICE = service_processes()
PIDS = tuple(one.pid for one in SERVICE)
ID = "4f1c" * 16


def unit(**fields: Any) -> Unit:
    """An enabled unit with Restart=always that runs the service."""
    settled = {
        "name": "sglang.service", "restart": "always", "enabled": "enabled", "active": "active", "sub": "running",
        "main_pid": LAUNCHER_PID, "pids": PIDS, "command": SERVICE[0].cmdline,
        "file": "/etc/systemd/system/sglang.service", **fields,
    }  # fmt: skip
    return Unit(**settled)


def container(**fields: Any) -> Container:
    settled = {
        "id": ID, "runtime": "docker", "name": "sglang", "image": "lmsysorg/sglang", "restart": "always",
        "status": "running", "pid": LAUNCHER_PID, "pids": PIDS, "command": SERVICE[0].cmdline, **fields,
    }  # fmt: skip
    return Container(**settled)


def keepers(**found: Any) -> dict[Any, Any]:
    return {SUPERVISORS: Supervisors(**found)}


def loop(pid: int = 2000, *words: str, ppid: int = 1) -> Process:
    return process(pid, "sh", *(words or ("sh", "/root/serve.sh")), ppid=ppid)


def under(parent: int, *, processes: tuple[Process, ...] = SERVICE) -> tuple[Process, ...]:
    """The service with its launcher started by `parent`, in that one's group and session."""
    head, *rest = processes
    return (replace(head, ppid=parent), *rest)


def found_on(*processes: Process, **supervisors: Any) -> Attribution:
    return attribute(observe(*processes, facts=keepers(**supervisors)))


TMUX = Terminal(program="tmux", pid=2000, name="work")
