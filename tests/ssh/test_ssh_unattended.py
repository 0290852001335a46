"""Whether a login needs an agent: by the key files that there are, and whether they open alone."""

import subprocess
from pathlib import Path

import paramiko
import pytest

from fleetops.model.fleet import Host, Settings
from fleetops.ssh.connections import Connections
from fleetops.ssh.unattended import needs_agent, opens_alone

HOST = Host(name="node-174", address="192.0.2.1", user="root")


@pytest.fixture
def needs(tmp_path, monkeypatch):
    """Whether it does, with such an ssh_config, agent or not."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()

    def told(config="", agent=True, host=HOST):
        (tmp_path / "ssh_config").write_text(config)
        environ = {"HOME": str(tmp_path), **({"SSH_AUTH_SOCK": "/run/agent"} if agent else {})}
        with Connections(Settings(ssh_config=tmp_path / "ssh_config"), environ=environ) as connections:
            return needs_agent(connections.link(host))

    return told


def key(path: Path, passphrase=None):
    path.parent.mkdir(exist_ok=True)
    paramiko.ECDSAKey.generate().write_private_key_file(str(path), password=passphrase)
    return path


def openssh_key(path: Path, passphrase: str):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path], check=True)
    return path


def test_without_any_key_file_it_does(needs):
    assert needs()


def test_without_an_agent_it_cannot_need_one(needs):
    assert not needs(agent=False)
    assert not needs("Host *\n  IdentitiesOnly yes\n")


@pytest.mark.parametrize("name", ["id_ecdsa", "id_ed25519", "id_rsa"])
def test_with_a_key_of_the_usual_names_it_does_not(needs, tmp_path, name):
    key(tmp_path / ".ssh" / name)
    assert not needs()


def test_a_named_key_replaces_the_usual_ones(needs, tmp_path):
    key(tmp_path / ".ssh/id_ecdsa")
    named = tmp_path / "named"
    config = f"Host *\n  IdentityFile {named}\n"
    assert needs(config)
    key(named)
    assert not needs(config)


def test_a_key_with_a_passphrase_does_not_open_alone(needs, tmp_path):
    key(tmp_path / ".ssh/id_ecdsa", passphrase="secret")
    assert needs()


def test_a_jump_host_that_needs_it_is_enough(needs, tmp_path):
    key(tmp_path / "own")
    config = f"Host 192.0.2.1\n  IdentityFile {tmp_path}/own\n  ProxyJump root@192.0.2.9\n"
    assert needs(config)
    key(tmp_path / ".ssh/id_ecdsa")
    assert not needs(config)


@pytest.mark.parametrize(("passphrase", "alone"), [("", True), ("secret", False)])
def test_keys_in_opensshs_own_form(tmp_path, passphrase, alone):
    assert opens_alone(openssh_key(tmp_path / "id", passphrase)) is alone


@pytest.mark.parametrize(
    "text",
    ["", "ssh-ed25519 AAAA a public key\n", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n",
     "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "-----BEGIN OPENSSH PRIVATE KEY-----\n!\n"],
)  # fmt: skip
def test_what_is_not_understood_does_not_open_alone(tmp_path, text):
    (tmp_path / "id").write_text(text)
    assert not opens_alone(tmp_path / "id")
    assert not opens_alone(tmp_path / "no such file")
