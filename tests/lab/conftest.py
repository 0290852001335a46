"""What the lab's own tests ask of it: a plain SSH client, and commands past SSH."""

import subprocess
from collections.abc import Iterator

import paramiko
import pytest
from lab_access import Client, Inside, Sh, await_banner

from fleetops.lab.api import Lab
from fleetops.lab.control import run_in


@pytest.fixture
def ssh(lab: Lab) -> Iterator[Client]:
    """A connected client for a host, its key verified; any number of them."""
    opened: list[paramiko.SSHClient] = []

    def connect(name: str) -> paramiko.SSHClient:
        await_banner(lab.ports[name], "SSH")  # a host that has only just booted opens its port a moment later
        client = paramiko.SSHClient()
        opened.append(client)
        client.load_host_keys(str(lab.known_hosts))
        client.connect(
            "127.0.0.1",
            lab.ports[name],
            username="root",
            key_filename=str(lab.identity),
            look_for_keys=False,
            allow_agent=False,
            timeout=20,
        )
        return client

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def inside(lab: Lab) -> Inside:
    """Run a command in a host past SSH."""

    def run(name: str, *argv: str, **options: object) -> subprocess.CompletedProcess[str]:
        return run_in(lab.folder, name, argv, **options)

    return run


@pytest.fixture
def sh(inside: Inside) -> Sh:
    """The output of a shell script in a host, which must succeed."""

    def run(name: str, script: str) -> str:
        done = inside(name, "sh", "-ec", script)
        assert done.returncode == 0, done
        return done.stdout.strip()

    return run
