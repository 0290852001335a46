"""A host whose key has changed is told nothing: no name, no password, no command."""

import paramiko
import pytest
from command_line import CommandLine
from hostile_server import HostileServer, inventory_for, says

COMMANDS = [
    ("run", "node-1", "--", "true"),
    ("run", "--sudo", "node-1", "--", "true"),
    ("grep-source", "x", "node-1"),
    ("probe", "node-1"),
    ("explain", "hicache_size", "node-1"),
    ("kill", "node-1", "--yes"),
    ("recover", "node-1", "--yes"),
    ("reset-gpus", "node-1", "--yes"),
    ("measure", "node-1"),
]


@pytest.fixture
def impostor(serve, tmp_path):
    """A server in another one's place, and the command line that has the other one's key on record."""
    first = serve(says(b""))
    inventory = inventory_for(tmp_path, first)
    first.close()
    return serve(says(b""), port=first.port), CommandLine(inventory, tmp_path)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_changed_key_ends_it_before_anything_is_said(impostor, words):
    server, fleetops = impostor
    ran = fleetops(*words, stdin="my sudo password\n")
    assert ran.status in {3, 5}
    assert "CHANGED" in ran.stdout + ran.stderr
    assert server.met
    assert server.told == []


def test_a_server_notes_what_it_is_told_where_its_key_is_right(serve, tmp_path):
    server = serve(says(b"fine\n"))
    ran = CommandLine(inventory_for(tmp_path, server), tmp_path)("run", "node-1", "--", "true")
    assert ran.status == 0
    assert [said.split()[0] for said in server.told[-3:]] == ["key", "channel", "exec"]


def test_a_key_that_changes_between_two_connections_is_refused(serve, tmp_path):
    first = serve(says(b"fine\n"))
    fleetops = CommandLine(inventory_for(tmp_path, first), tmp_path)
    assert fleetops("run", "node-1", "--", "true").status == 0
    first.close()
    second = HostileServer(says(b"fine\n"), key=paramiko.RSAKey.generate(2048), port=first.port)
    try:
        ran = fleetops("run", "node-1", "--", "true")
        assert (ran.status, second.told) == (3, [])
    finally:
        second.close()
