"""pssh, which Debian calls parallel-ssh, over ssh as shipped."""

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import Fleet
from bench.measure import Invocation
from bench.tools import Tools

_NAMES = ("pssh", "parallel-ssh")


def _invocation(fleet: Fleet, tools: Tools, task: Task) -> Invocation:
    argv = [tools.find(*_NAMES), "-i", "-p", str(WIDTH), "-t", "0", "-x", f"-F {fleet.ssh_config}"]
    return Invocation(argv=[*argv, "-h", str(fleet.host_list), task.line], environ=fleet.environ())


PSSH = Contestant(
    name="pssh",
    install="apt-get install pssh",
    version=lambda tools: tools.release(*_NAMES),
    invocation=_invocation,
)
