"""What a host can be instead of reachable, each told apart and told in words."""

import socket
import threading
import time

import paramiko
import pytest
from ssh_site import ADDRESS, free_port, make_key, node

from fleetops.model.command import Command
from fleetops.model.errors import HostKeyRefused, Silence, Unreachable
from fleetops.ssh import link
from fleetops.ssh.dial import why_unmet
from fleetops.ssh.fanout import fan_out

TRUE = Command(argv=("true",))


@pytest.fixture
def listener():
    with socket.socket() as listening:
        listening.bind((ADDRESS, 0))
        listening.listen(50)
        yield listening


def refused(site, host):
    with site.connections() as connections, pytest.raises(Unreachable) as caught:
        connections.session(host).run(TRUE)
    assert caught.value.host == host.name
    assert caught.value.message.startswith(f"{host.name}: ")
    return caught.value


def test_a_known_host_lets_us_in(site):
    with site.connections() as connections:
        assert connections.session(node(site.serve())).run(TRUE).ok


def test_a_dead_port(site):
    port = free_port()
    error = refused(site, node(port))
    assert f"{ADDRESS}:{port}: connection refused" in error.message
    assert error.reason is Silence.REFUSED


def test_a_name_that_does_not_resolve(site):
    host = node(22, address="no-such-host.invalid")
    error = refused(site, host)
    assert "cannot be resolved" in error.message
    assert error.reason is None


def test_a_port_that_accepts_and_says_nothing(site, listener, monkeypatch):
    monkeypatch.setattr(link, "BANNER_S", 0.3)
    error = refused(site, node(listener.getsockname()[1]))
    assert "accepted the connection but sent no SSH banner within 0.3 s" in error.message
    assert error.reason is Silence.NO_BANNER


def test_a_server_that_says_its_banner_and_then_nothing(site, listener, monkeypatch):
    monkeypatch.setattr(link, "EXCHANGE_S", 0.3)
    peers = []

    def greet():
        peers.append(listener.accept()[0])
        peers[0].sendall(b"SSH-2.0-hangs\r\n")

    threading.Thread(target=greet, daemon=True).start()
    error = refused(site, node(listener.getsockname()[1]))
    peers[0].close()
    assert "sent its SSH banner and then nothing" in error.message
    assert error.reason is Silence.TIMEOUT


class Silent:
    """As much of a transport as is looked at after its server has sent no banner."""

    remote_version = ""

    def __init__(self, sock):
        self.sock = sock


def test_a_proxy_command_that_says_nothing_proves_nothing_about_the_host():
    proxy = object.__new__(paramiko.ProxyCommand)
    assert why_unmet(Silent(proxy), TimeoutError(), 1.0).reason is None
    assert why_unmet(Silent(object()), TimeoutError(), 1.0).reason is Silence.NO_BANNER


def test_a_port_that_hangs_up(site, listener):
    came = []

    def hang_up():
        while True:
            listener.accept()[0].close()
            came.append(time.monotonic())

    threading.Thread(target=hang_up, daemon=True).start()
    error = refused(site, node(listener.getsockname()[1]))
    assert "closed the connection before its SSH banner" in error.message
    assert error.reason is Silence.CLOSED
    assert len(came) == 1 + len(link.BUSY_S)


def test_a_server_that_is_busy_at_first_is_tried_again(site, monkeypatch):
    """As many at once as sshd drops most of: none of them is told to be down."""
    monkeypatch.setattr(link, "BUSY_S", (0.1,) * 300)
    server = site.serve("MaxStartups 1:100:1")
    hosts = [node(server, f"node-{number}") for number in range(8)]
    with site.connections() as connections:
        ends = list(fan_out(hosts, lambda host: connections.session(host).run(TRUE)))
    assert [end.error for end in ends] == [None] * 8
    assert "beginning MaxStartups throttling" in server.log()


def test_a_port_that_is_something_else(site, listener):
    def serve():
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"220 mail.example ESMTP\r\n" * 200)
            peer.recv(1000)

    threading.Thread(target=serve, daemon=True).start()
    error = refused(site, node(listener.getsockname()[1]))
    assert "not an SSH server" in error.message
    assert error.reason is Silence.NOT_SSH


def test_connect_timeout_of_ssh_config_holds(site):
    """A listener whose backlog is full drops what comes next, as a dead machine does."""
    with socket.socket() as full:
        full.bind((ADDRESS, 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        site.configure("Host *\n  ConnectTimeout 1")
        began = time.monotonic()
        error = refused(site, node(full.getsockname()[1]))
        for filler in fillers:
            filler.close()
    assert "no answer within 1 s" in error.message
    assert error.reason is Silence.TIMEOUT
    assert time.monotonic() - began < 5


def test_an_unknown_key_is_refused_with_what_to_type(site):
    server = site.serve(known=False)
    error = refused(site, node(server))
    assert isinstance(error, HostKeyRefused)
    assert "is not on record (ssh-ed25519 SHA256:" in error.message
    assert error.hint == "fleetops trust node-1"
    assert error.reason is Silence.HOST_KEY
    assert "Accepted" not in server.log()


def test_a_changed_key_is_refused_and_told_apart(site):
    server = site.serve(known=False)
    other = make_key(site.folder / "other")
    site.known_hosts.write_text(f"[{ADDRESS}]:{server.port} {other}\n")
    error = refused(site, node(server))
    assert isinstance(error, HostKeyRefused)
    assert "CHANGED" in error.message
    assert f"{site.known_hosts}:1 records another" in error.message
    assert f"ssh-keygen -R '[{ADDRESS}]:{server.port}' -f {site.known_hosts}" in error.hint
    assert "Accepted" not in server.log()


def test_a_revoked_key_is_refused(site):
    server = site.serve()
    with site.known_hosts.open("a") as file:
        file.write(f"@revoked {server.record}")
    assert "is revoked by" in refused(site, node(server)).message


def test_a_hashed_record_counts(site):
    import subprocess

    server = site.serve()
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", site.known_hosts], check=True, capture_output=True)
    assert ADDRESS not in site.known_hosts.read_text()
    with site.connections() as connections:
        assert connections.session(node(server)).run(TRUE).ok


def test_the_recorded_type_of_key_is_asked_for(site):
    """A server with several keys must show the one that can be compared."""
    import subprocess

    rsa = site.folder / "rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-C", "", "-f", rsa], check=True)
    server = site.serve(f"HostKey {rsa}", known=False)
    site.known_hosts.write_text(f"[{ADDRESS}]:{server.port} {(site.folder / 'rsa.pub').read_text()}")
    with site.connections() as connections:
        assert connections.session(node(server)).run(TRUE).ok


def test_a_refused_login_names_the_user_and_the_keys(site):
    server = site.serve()
    stranger = site.folder / "stranger"
    make_key(stranger)
    site.ssh_config.write_text(f"Host *\n  IdentityFile {stranger}\n  IdentityFile {site.folder}/missing\n")
    error = refused(site, node(server, user="operator"))
    assert "login as operator" in error.message
    assert str(stranger) in error.message
    assert f"{site.folder}/missing (does not exist)" in error.message
    assert error.reason is Silence.AUTH


def test_reading_known_hosts_happens_once(site, monkeypatch):
    from fleetops.ssh import known_hosts

    reads = []
    read = known_hosts._read
    monkeypatch.setattr(known_hosts, "_read", lambda file: (reads.append(file), read(file))[1])
    server = site.serve()
    with site.connections() as connections:
        for number in range(8):
            assert connections.session(node(server, name=f"node-{number}")).run(TRUE).ok
    assert reads.count(site.known_hosts) == 1


def test_sockets_are_prepared(site):
    server = site.serve()
    with site.connections() as connections:
        connections.session(node(server)).run(TRUE)
        sock = connections.link(node(server)).transport().sock
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_closing_does_not_wait_for_a_login_under_way(site, listener, monkeypatch):
    monkeypatch.setattr(link, "BANNER_S", 100.0)
    failures = []

    def ask():
        try:
            connections.session(node(listener.getsockname()[1])).run(TRUE)
        except Unreachable as error:
            failures.append(error)

    with site.connections() as connections:
        asker = threading.Thread(target=ask, daemon=True)
        asker.start()
        peer, _ = listener.accept()
    asker.join(10)
    peer.close()
    assert not asker.is_alive()
    assert len(failures) == 1
