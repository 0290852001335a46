"""`ansible -m raw`, 32 forks."""

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import Fleet
from bench.measure import Invocation
from bench.tools import Tools


def _invocation(fleet: Fleet, tools: Tools, task: Task) -> Invocation:
    environ = fleet.environ(
        ANSIBLE_CONFIG=str(fleet.ansible_config),
        ANSIBLE_HOME=str(fleet.folder / "tmp/ansible"),
        ANSIBLE_NOCOLOR="1",
        # A master that stays behind would be neither cold in the next round nor in anybody's CPU.
        ANSIBLE_SSH_ARGS=f"-C -o ControlMaster=no -F {fleet.ssh_config}",
    )
    argv = [tools.find("ansible"), "all", "-i", str(fleet.host_list), "-f", str(WIDTH)]
    return Invocation(argv=[*argv, "-m", "raw", "-a", task.line], environ=environ)


ANSIBLE = Contestant(
    name="ansible raw",
    install="make bench, or apt-get install ansible-core",
    version=lambda tools: tools.release("ansible"),
    invocation=_invocation,
    note="without ControlPersist, which would leave a master for each host behind: that makes it faster, not slower",
)
