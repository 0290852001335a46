"""The lab's SSH server behaves as OpenSSH does where a client can tell."""

import concurrent.futures
import socket
import threading
import time

import paramiko
import pytest
from lab_access import Client, Sh

from fleetops.lab.api import Lab


def run(client: paramiko.SSHClient, command: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    """Exit status, stdout, stderr."""
    channel = client.get_transport().open_session()
    channel.exec_command(command)

    def send() -> None:
        channel.sendall(stdin)
        channel.shutdown_write()

    sender = threading.Thread(target=send)
    sender.start()
    outcome = read(channel)
    sender.join()
    return outcome


def read(channel: paramiko.Channel) -> tuple[int, bytes, bytes]:
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda: errors.extend(iter(lambda: channel.recv_stderr(65536), b"")))
    reader.start()
    output = b"".join(iter(lambda: channel.recv(65536), b""))
    reader.join()
    return channel.recv_exit_status(), output, b"".join(errors)


def test_streams_and_status_are_kept_apart(ssh: Client) -> None:
    assert run(ssh("node-174"), "cat; echo out; echo err >&2; exit 7", b"in\n") == (7, b"in\nout\n", b"err\n")


def test_a_command_starts_at_home_as_root_in_its_own_session(ssh: Client) -> None:
    client = ssh("node-174")
    assert run(client, "pwd; id -u; echo $USER")[1] == b"/root\n0\nroot\n"
    status, output, _ = run(client, "echo $$; cut -d' ' -f6 /proc/self/stat; cut -d' ' -f6 /proc/$$/stat")
    assert status == 0
    shell, session, own = output.split()
    assert session == own
    assert shell == own or int(own) > 1


def test_the_clients_environment_arrives(ssh: Client) -> None:
    channel = ssh("node-181").get_transport().open_session()
    channel.set_environment_variable("FLEETOPS_TEST", "a 'b' $c")
    channel.exec_command('printf %s "$FLEETOPS_TEST"')
    assert read(channel) == (0, b"a 'b' $c", b"")


def test_much_goes_through_each_way_unchanged(ssh: Client) -> None:
    data = bytes(range(256)) * 4096 * 5
    client = ssh("node-174")
    assert run(client, "cat", data) == (0, data, b"")


def test_a_killed_command_ends_with_a_signal_not_with_a_status(ssh: Client) -> None:
    assert run(ssh("node-174"), "kill -9 $$")[0] == -1


def test_a_terminal_is_one(ssh: Client) -> None:
    channel = ssh("node-174").get_transport().open_session()
    channel.get_pty("xterm", 91, 17)
    channel.exec_command("test -t 0 && stty size; echo $TERM")
    assert read(channel)[1].split() == [b"17", b"91", b"xterm"]


def test_a_client_that_goes_away_ends_its_terminals_processes(ssh: Client, sh: Sh) -> None:
    channel = ssh("node-190").get_transport().open_session()
    channel.get_pty()
    channel.exec_command("sleep 304")
    await_count(sh, "sleep 304", 1)
    channel.close()
    await_count(sh, "sleep 304", 0)


def test_without_a_terminal_a_command_outlives_its_client_as_with_openssh(ssh: Client, sh: Sh) -> None:
    client = ssh("node-190")
    channel = client.get_transport().open_session()
    channel.exec_command("echo $$; exec sleep 305")
    pid = channel.recv(99).decode().strip()
    await_count(sh, "sleep 305", 1)
    client.close()
    try:
        assert count(sh, "sleep 305") == 1
    finally:
        sh("node-190", f"kill {pid}")


def test_the_status_comes_although_a_child_keeps_the_output_open(ssh: Client) -> None:
    channel = ssh("node-190").get_transport().open_session()
    channel.exec_command("sleep 3 & exit 5")
    began = time.monotonic()
    assert channel.recv_exit_status() == 5
    assert time.monotonic() - began < 2.5


def test_forwarding_leads_into_the_hosts_own_network(ssh: Client, sh: Sh) -> None:
    script = (
        "import socket,sys; s=socket.create_server(('127.0.0.1', 4711)); print(flush=True); "
        "c,_=s.accept(); c.sendall(c.recv(99).upper()); c.close()"
    )
    client = ssh("node-174")
    channel = client.get_transport().open_session()
    channel.exec_command(f'python3 -c "{script}"')
    assert channel.recv(1) == b"\n"
    forward = client.get_transport().open_channel("direct-tcpip", ("127.0.0.1", 4711), ("127.0.0.1", 0))
    forward.sendall(b"hello")
    assert forward.recv(99) == b"HELLO"
    with pytest.raises(paramiko.ChannelException):
        ssh("node-175").get_transport().open_channel("direct-tcpip", ("127.0.0.1", 4711), ("127.0.0.1", 0))


def test_only_the_labs_key_gets_in_and_only_as_root(lab: Lab) -> None:
    with socket.create_connection(("127.0.0.1", lab.ports["node-174"])) as connection:
        transport = paramiko.Transport(connection)
        transport.start_client()
        with pytest.raises(paramiko.AuthenticationException):
            transport.auth_publickey("root", paramiko.RSAKey.generate(2048))
        with pytest.raises(paramiko.SSHException):
            transport.auth_password("root", "root")
        with pytest.raises(paramiko.SSHException):
            transport.auth_publickey("admin", paramiko.Ed25519Key.from_private_key_file(str(lab.identity)))
        transport.close()


def test_forty_clients_at_once(ssh: Client) -> None:
    def work(number: int) -> bytes:
        return run(ssh("node-174" if number % 2 else "pve-01"), f"echo {number}")[1]

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        assert list(pool.map(work, range(40))) == [f"{number}\n".encode() for number in range(40)]


def count(sh: Sh, title: str) -> int:
    # Brackets, so that the script that looks does not find itself.
    pattern = f"{title[:-1]}[{title[-1]}]"
    return int(sh("node-190", f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o '{pattern}' | wc -l"))


def await_count(sh: Sh, title: str, wanted: int) -> None:
    deadline = time.monotonic() + 15
    while (seen := count(sh, title)) != wanted:
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
