"""Fixtures: real OpenSSH servers on loopback."""

from pathlib import Path

import pytest
from ssh_site import SSHD, make_site, node


def _needs_sshd():
    if not Path(SSHD).exists():
        pytest.skip("sshd is not installed (Debian: openssh-server)")


@pytest.fixture
def site(tmp_path):
    _needs_sshd()
    made = make_site(tmp_path)
    yield made
    for server in made.servers:
        server.stop()


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory):
    """A site with one server for tests that only use it."""
    _needs_sshd()
    made = make_site(tmp_path_factory.mktemp("ssh-site"))
    made.serve()
    yield made
    for server in made.servers:
        server.stop()


@pytest.fixture
def session(shared_site):
    with shared_site.connections() as connections:
        yield connections.session(node(shared_site.servers[0]))
