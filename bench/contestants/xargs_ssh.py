"""`xargs -P32 ssh`: what a shell has, with the cheapest key exchange and with OpenSSH's defaults."""

from pathlib import Path

from bench.contestants.base import WIDTH, Contestant, Task
from bench.fleet import Fleet
from bench.measure import Invocation
from bench.tools import Tools


def xargs_ssh(fleet: Fleet, line: str, config: Path, *options: str, width: int = WIDTH) -> Invocation:
    """One ssh for each host of the list, so many at a time."""
    argv = ["xargs", f"-P{width}", "-I{}", "ssh", "-F", str(config), *options, "{}", line]
    return Invocation(argv=argv, environ=fleet.environ(), stdin=fleet.host_list)


def _curve25519(fleet: Fleet, _: Tools, task: Task) -> Invocation:
    return xargs_ssh(fleet, task.line, fleet.ssh_config_curve25519)


def _defaults(fleet: Fleet, _: Tools, task: Task) -> Invocation:
    return xargs_ssh(fleet, task.line, fleet.ssh_config)


def _version(tools: Tools) -> str:
    return tools.release("ssh", option="-V") if tools.find("xargs") else ""


CURVE25519 = Contestant(
    name="xargs ssh, curve25519",
    install="apt-get install openssh-client findutils",
    version=_version,
    invocation=_curve25519,
)
DEFAULTS = Contestant(
    name="xargs ssh, defaults",
    install="apt-get install openssh-client findutils",
    version=_version,
    invocation=_defaults,
    note="the key exchange that OpenSSH prefers (sntrup761 since 9.0, ML-KEM since 10.0)",
)
