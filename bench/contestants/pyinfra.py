"""`pyinfra exec`: Paramiko under gevent."""

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import Fleet
from bench.measure import Finished, Invocation
from bench.tools import Tools


def _invocation(fleet: Fleet, tools: Tools, task: Task) -> Invocation:
    argv = [tools.find("pyinfra"), "-y", "--parallel", str(WIDTH), str(fleet.pyinfra_inventory)]
    return Invocation(argv=[*argv, "exec", "--", *task.words], environ=fleet.environ())


def _answered(finished: Finished, expected: str) -> int:
    """It prints what the hosts say on stderr, beside its progress."""
    text = finished.stdout + finished.stderr
    return sum(line.rstrip().endswith(expected) for line in text.splitlines())


PYINFRA = Contestant(
    name="pyinfra",
    install="make bench, or pip install pyinfra",
    version=lambda tools: tools.distribution("pyinfra"),
    invocation=_invocation,
    answered=_answered,
)
