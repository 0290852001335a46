"""Fabric as its documentation shows it, in a pool of threads or as a ThreadingGroup; in fleetops' own environment."""

import sys
from collections.abc import Callable
from importlib.metadata import version

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import ROOT, Fleet
from bench.measure import Invocation
from bench.tools import Tools


def fabric(fleet: Fleet, task: Task, *, how: str) -> Invocation:
    """The driver, which prints a line for each host. `how` is pool, group or warm."""
    login = fleet.login
    words = [how, str(fleet.host_list), login.user, str(login.port), str(login.key), str(WIDTH), task.line]
    argv = [sys.executable, "-m", "bench.drivers.fabric_pool", *words]
    return Invocation(argv=argv, environ=fleet.environ(PYTHONPATH=str(ROOT)))


def _by(how: str) -> Callable[[Fleet, Tools, Task], Invocation]:
    return lambda fleet, _, task: fabric(fleet, task, how=how)


def _version(_: Tools) -> str:
    return f"{version('fabric')}, Paramiko {version('paramiko')}"


POOL = Contestant(
    name="fabric, pool of 32",
    install="make",
    version=_version,
    invocation=_by("pool"),
    note="verifies no host key",
)
GROUP = Contestant(
    name="fabric ThreadingGroup",
    install="make",
    version=_version,
    invocation=_by("group"),
    note="verifies no host key; a thread for each host, without limit",
)
