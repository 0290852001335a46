"""What a host's SSH port says to another host, tried on real sockets."""

import socket
import threading

import pytest
from local_session import LocalSession

from fleetops.facts import ssh_answer
from fleetops.model.fact import Missing
from fleetops.model.machine import PortAnswer


def ask(port, wait_s=5):
    fact = ssh_answer.fact("127.0.0.1", port, wait_s)
    return fact.read(LocalSession().run(fact.command))


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def answering(listener, *said):
    """The listener's port, with somebody who takes one connection, says this, and hangs up."""

    def serve():
        peer, _ = listener.accept()
        with peer:
            for words in said:
                peer.sendall(words)

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def test_a_banner(listener):
    assert ask(answering(listener, b"SSH-2.0-OpenSSH_9.2p1\r\n")) is PortAnswer.BANNER


def test_a_port_that_accepts_and_says_nothing(listener):
    assert ask(listener.getsockname()[1], wait_s=1) is PortAnswer.SILENT


def test_a_port_that_hangs_up(listener):
    assert ask(answering(listener)) is PortAnswer.CLOSED


def test_a_port_where_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert ask(port) is PortAnswer.REFUSED


def test_a_name_that_does_not_resolve_tells_nothing():
    fact = ssh_answer.fact("no-such-host.invalid", 22)
    assert isinstance(fact.read(LocalSession().run(fact.command)), Missing)
