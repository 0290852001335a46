"""Through a jump host: the right one, once for all, with its own key verified, and with the deadlines kept."""

import getpass
import threading

import pytest
from ssh_site import ADDRESS, free_port, node

from fleetops.model.command import Command
from fleetops.model.errors import HostKeyRefused, Unreachable, UsageError
from fleetops.ssh.fanout import fan_out

WHERE = Command(argv=("sh", "-c", "echo $SSH_CONNECTION"))


def behind(site, bastion, more=""):
    """ssh_config under which the target's address is reached through `bastion`."""
    site.configure(
        f"Host bastion\n  HostName {ADDRESS}\n  Port {bastion.port}\n  User {getpass.getuser()}\n"
        f"Host {ADDRESS}\n  ProxyJump bastion\n{more}"
    )


def test_a_target_is_reached_through_its_jump_host(site):
    bastion, target = site.serve(), site.serve()
    behind(site, bastion)
    with site.connections() as connections:
        outcome = connections.session(node(target)).run(WHERE)
    assert outcome.stdout.split()[3] == str(target.port)
    assert bastion.log().count("Accepted publickey") == target.log().count("Accepted publickey") == 1


def test_many_targets_share_one_connection_to_the_jump_host(site):
    bastion, target = site.serve(), site.serve()
    behind(site, bastion)
    hosts = [node(target, name=f"node-{number}") for number in range(12)]
    with site.connections() as connections:
        results = list(fan_out(hosts, lambda host: connections.session(host).run(WHERE)))
    assert all(result.value is not None and result.value.ok for result in results)
    assert bastion.log().count("Accepted publickey") == 1


def test_two_jump_hosts_in_a_row(site):
    first, second, target = site.serve(), site.serve(), site.serve()
    user = getpass.getuser()
    site.configure(
        f"Host one\n  HostName {ADDRESS}\n  Port {first.port}\n"
        f"Host {ADDRESS}\n  ProxyJump {user}@one,{user}@localhost:{second.port}\n"
        f"Host localhost\n  HostKeyAlias [{ADDRESS}]:{second.port}\n"
    )
    with site.connections() as connections:
        assert connections.session(node(target)).run(WHERE).stdout.split()[3] == str(target.port)
    assert [server.log().count("Accepted publickey") for server in (first, second, target)] == [1, 1, 1]


def test_proxyjump_none_means_none(site):
    bastion, target = site.serve(), site.serve()
    site.configure(f"Host {ADDRESS}\n  ProxyJump none\nHost *\n  ProxyJump {ADDRESS}:{bastion.port}\n")
    with site.connections() as connections:
        assert connections.session(node(target)).run(WHERE).ok
    assert "Accepted" not in bastion.log()


def test_the_jump_hosts_key_is_verified_too(site):
    bastion, target = site.serve(known=False), site.serve()
    behind(site, bastion)
    with (
        site.connections() as connections,
        pytest.raises(HostKeyRefused, match="jump host bastion") as refused,
    ):
        connections.session(node(target)).run(WHERE)
    assert refused.value.hint == "fleetops trust node-1"
    assert refused.value.host == "node-1"


def test_what_the_jump_host_cannot_reach_is_said(site):
    bastion = site.serve()
    behind(site, bastion)
    with site.connections() as connections, pytest.raises(Unreachable, match="through jump host bastion"):
        connections.session(node(free_port())).run(WHERE)


def test_a_dead_jump_host_costs_all_hosts_behind_it_one_attempt(site):
    import socket

    with socket.socket() as silent:
        silent.bind((ADDRESS, 0))
        silent.listen(50)
        port = silent.getsockname()[1]
        site.configure(
            f"Host bastion\n  HostName {ADDRESS}\n  Port {port}\nHost {ADDRESS}\n  ProxyJump bastion\n"
        )
        from fleetops.ssh import link

        banner_s, link.BANNER_S = link.BANNER_S, 0.5
        try:
            with site.connections() as connections:
                hosts = [node(free_port(), name=f"node-{number}") for number in range(10)]
                results = list(fan_out(hosts, lambda host: connections.session(host).run(WHERE)))
        finally:
            link.BANNER_S = banner_s
        silent.settimeout(0.2)
        attempts = 0
        try:
            while True:
                silent.accept()[0].close()
                attempts += 1
        except TimeoutError:
            pass
    assert {type(result.error) for result in results} == {Unreachable}
    assert all("its jump host cannot be used" in result.error.message for result in results)
    assert attempts <= 2


def test_a_jump_that_goes_round_in_a_circle_is_refused(site):
    site.configure("Host a\n  ProxyJump b\nHost b\n  ProxyJump c\nHost c\n  ProxyJump b\n")
    with site.connections() as connections, pytest.raises(UsageError, match="circle"):
        connections.session(node(22, address="a"))


def test_http_goes_through_as_well(site):
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Hello(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_):
            pass

    bastion, target = site.serve(), site.serve()
    behind(site, bastion)
    with HTTPServer((ADDRESS, 0), Hello) as web, site.connections() as connections:
        threading.Thread(target=web.handle_request, daemon=True).start()
        answer = connections.session(node(target)).request(web.server_port, "GET", "/")
    assert (answer.status, answer.body) == (200, b"hello")
