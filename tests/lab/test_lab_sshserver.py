"""The lab's SSH server by itself, on this machine: what is too quick to be met in a host."""

import socket
import time

import paramiko
import pytest
from paramiko.common import cMSG_CHANNEL_SUCCESS

from fleetops.lab import sshserver
from fleetops.lab.sshserver import Doors, HostServer


def test_a_command_does_not_end_before_its_client_knows_that_it_was_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine the thread that answers may get its turn after the one that runs the command."""

    class Late(sshserver._Transport):
        def _send_user_message(self, data: paramiko.Message) -> None:
            if data.asbytes()[:1] == cMSG_CHANNEL_SUCCESS:
                time.sleep(0.3)
            super()._send_user_message(data)

    monkeypatch.setattr(sshserver, "_Transport", Late)
    key = paramiko.RSAKey.generate(2048)
    doors = Doors(boot=lambda: (1,), is_mute=lambda: False, entry=list, connect=_nowhere)
    server = HostServer("here", "127.0.0.1", key, f"{key.get_name()} {key.get_base64()}", doors)
    server.follow()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        client = paramiko.Transport(connection)
        client.connect(username="root", pkey=key)
        channel = client.open_session()
        channel.exec_command("true")
        assert channel.recv_exit_status() == 0
        client.close()


def _nowhere(address: str, port: int) -> socket.socket:
    raise OSError(f"{address}:{port} is not asked for")
