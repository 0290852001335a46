"""`trust`: a key is met without a login, shown, and put on record when the operator says so."""

import getpass
import stat

import pytest
from ssh_site import ADDRESS, free_port, make_key, node

from fleetops.model.command import Command
from fleetops.model.errors import FleetopsError, HostKeyRefused, Unreachable
from fleetops.model.exit import Exit
from fleetops.ssh.trust import trust

TRUE = Command(argv=("true",))


def shown_by_openssh(server):
    import subprocess

    command = ["ssh-keygen", "-l", "-f", server.folder / "host_key.pub"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1]


def test_a_key_that_is_accepted_lets_the_next_command_through(site):
    server = site.serve(known=False)
    seen = []
    with site.connections() as connections:
        met = list(trust(connections.link(node(server)), lambda presented: seen.append(presented) or True))
        assert connections.session(node(server)).run(TRUE).ok
    assert seen[0].key.fingerprint == shown_by_openssh(server)
    assert [recorded for _, recorded in met] == [True]
    assert site.known_hosts.read_text() == server.record
    assert stat.S_IMODE(site.known_hosts.stat().st_mode) == 0o600


def test_nothing_is_said_about_who_is_asking(site):
    server = site.serve(known=False)
    with site.connections() as connections:
        list(trust(connections.link(node(server, user="operator")), lambda _: True))
    assert "operator" not in server.log()
    assert "publickey" not in server.log()


def test_a_key_that_is_declined_stays_unknown(site):
    server = site.serve(known=False)
    with site.connections() as connections:
        assert [recorded for _, recorded in trust(connections.link(node(server)), lambda _: False)] == [False]
        with pytest.raises(HostKeyRefused):
            connections.session(node(server)).run(TRUE)
    assert not site.known_hosts.exists()


def test_a_known_key_is_not_asked_about(site):
    server = site.serve()
    with site.connections() as connections:
        ((presented, recorded),) = trust(connections.link(node(server)), lambda _: pytest.fail("asked"))
    assert presented.is_known
    assert recorded
    assert site.known_hosts.read_text() == server.record


def test_a_different_key_on_record_is_never_replaced(site):
    server = site.serve(known=False)
    before = f"[{ADDRESS}]:{server.port} {make_key(site.folder / 'other')}\n"
    site.known_hosts.write_text(before)
    with site.connections() as connections, pytest.raises(HostKeyRefused, match="CHANGED") as refused:
        list(trust(connections.link(node(server)), lambda _: pytest.fail("asked")))
    assert refused.value.exit_code is Exit.REFUSED
    assert site.known_hosts.read_text() == before


def test_the_way_to_a_host_is_trusted_hop_by_hop(site):
    bastion, target = site.serve(known=False), site.serve(known=False)
    site.configure(
        f"Host bastion\n  HostName {ADDRESS}\n  Port {bastion.port}\n  User {getpass.getuser()}\n"
        f"Host {ADDRESS}\n  ProxyJump bastion\n"
    )
    with site.connections() as connections:
        met = list(trust(connections.link(node(target)), lambda _: True))
        assert connections.session(node(target)).run(TRUE).ok
    assert [presented.server for presented, _ in met] == ["jump host bastion", "node-1"]


def test_a_host_that_does_not_answer(site):
    with site.connections() as connections, pytest.raises(Unreachable, match="connection refused"):
        list(trust(connections.link(node(free_port())), lambda _: True))


def test_a_record_that_cannot_be_written_is_said(site):
    server = site.serve(known=False)
    site.known_hosts.parent.joinpath("file").write_text("")
    from dataclasses import replace

    from fleetops.ssh.connections import Connections

    settings = replace(site.settings, known_hosts=site.folder / "file" / "known_hosts")
    with (
        Connections(settings, environ={"HOME": str(site.folder)}) as connections,
        pytest.raises(FleetopsError),
    ):
        list(trust(connections.link(node(server)), lambda _: True))


def test_there_must_be_a_file_of_ones_own(site):
    from fleetops.model.fleet import Settings
    from fleetops.ssh.connections import Connections

    server = site.serve(known=False)
    settings = Settings(ssh_config=site.ssh_config)  # says UserKnownHostsFile none
    with (
        Connections(settings, environ={"HOME": str(site.folder)}) as connections,
        pytest.raises(FleetopsError, match="no file of your own"),
    ):
        list(trust(connections.link(node(server)), lambda _: True))
