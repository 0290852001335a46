"""clush of ClusterShell, over ssh as shipped."""

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import Fleet
from bench.measure import Invocation
from bench.tools import Tools


def _invocation(fleet: Fleet, tools: Tools, task: Task) -> Invocation:
    argv = [tools.find("clush"), "-f", str(WIDTH), "-o", f"-F {fleet.ssh_config}"]
    argv += [f"--hostfile={fleet.host_list}", task.line]
    return Invocation(argv=argv, environ=fleet.environ())


CLUSH = Contestant(
    name="clush",
    install="make bench, or apt-get install clustershell",
    version=lambda tools: tools.release("clush"),
    invocation=_invocation,
)
