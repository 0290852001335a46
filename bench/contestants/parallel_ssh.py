"""parallel-ssh: libssh2 under gevent, driven from Python."""

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import ROOT, Fleet
from bench.measure import Invocation
from bench.tools import Tools


def _invocation(fleet: Fleet, tools: Tools, task: Task) -> Invocation:
    login = fleet.login
    words = [str(fleet.host_list), login.user, str(login.port), str(login.key), str(WIDTH), task.line]
    argv = [tools.python, "-m", "bench.drivers.parallel_ssh_pool", *words]
    return Invocation(argv=argv, environ=fleet.environ(PYTHONPATH=str(ROOT)))


PARALLEL_SSH = Contestant(
    name="parallel-ssh",
    install="make bench, or pip install parallel-ssh",
    version=lambda tools: tools.distribution("parallel-ssh"),
    invocation=_invocation,
    note="verifies no host key",
)
