"""The lab's SSH server: one listening socket for each host, public-key login as root, commands run in the host.

It behaves as OpenSSH does where that matters to a client: each command runs in a session of its own, its exit
status or signal is reported when it ends, its output goes on until everyone who inherited it has closed it, and a
client that goes away ends nothing by itself (a terminal hangs up; a pipe only breaks).
"""

# ruff: noqa: ARG002, PLR0917 - the signatures are Paramiko's

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_FAILED_CONNECT_FAILED,
    OPEN_SUCCEEDED,
)

from fleetops.lab.sshcommand import Request, start

log = logging.getLogger("fleetops.lab.ssh")
_ACCEPT_S = 1.0
_BACKLOG = 128


@dataclass(frozen=True)
class Doors:
    """How the server gets into a host; all raise OSError or HostDown while the host is not running.

    Attributes:
        boot: what tells one run of the host from the next.
        entry: the argv to put before a command.
        connect: a TCP connection to an address inside the host's network.
    """

    boot: Callable[[], tuple[int, ...]]
    entry: Callable[[], list[str]]
    connect: Callable[[str, int], socket.socket]


def listen(address: str) -> socket.socket:
    """A listening socket on a free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((address, 0))
    listener.listen(_BACKLOG)
    return listener


class HostServer:
    """Serves one host's port, in threads, for as long as the process lives."""

    def __init__(
        self, name: str, listener: socket.socket, host_key: paramiko.PKey, client_key: str, doors: Doors
    ) -> None:
        self._name = name
        self._listener = listener
        self._host_key = host_key
        self._client_key = client_key
        self._doors = doors
        self._transports: dict[paramiko.Transport, tuple[int, ...]] = {}

    def start(self) -> None:
        """Begin to accept connections."""
        threading.Thread(target=self._accept, name=f"ssh {self._name}", daemon=True).start()

    def drop_stale(self, boot: tuple[int, ...]) -> None:
        """Break every connection that is not of this run of the host (none: it is down)."""
        for transport, connected in list(self._transports.items()):
            if connected != boot:
                transport.close()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            boot = self._doors.boot()
        except Exception:  # noqa: BLE001 - whatever is wrong with the host, its port answers with a closed connection
            connection.close()
            return
        transport = paramiko.Transport(connection)
        transport.add_server_key(self._host_key)
        self._transports[transport] = boot
        server = _Server(self._client_key, self._doors)
        try:
            transport.start_server(server=server)
            _keep_channels(transport, server)
        except (paramiko.SSHException, EOFError, OSError) as error:
            log.info("%s: %s", self._name, error)
        finally:
            self._transports.pop(transport, None)
            transport.close()


def _keep_channels(transport: paramiko.Transport, server: "_Server") -> None:
    """Paramiko closes a channel that nobody holds on to; forwarded ones begin here."""
    channels: list[paramiko.Channel] = []
    while transport.is_active():
        channel = transport.accept(_ACCEPT_S)
        channels = [each for each in channels if not each.closed]
        if channel is not None:
            channels.append(channel)
            if target := server.forwards.pop(channel.get_id(), None):
                _relay(channel, target)


class _Server(paramiko.ServerInterface):
    def __init__(self, client_key: str, doors: Doors) -> None:
        self._client_key = client_key
        self._doors = doors
        self._requests: dict[int, Request] = {}
        self.forwards: dict[int, socket.socket] = {}

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        offered = f"{key.get_name()} {key.get_base64()}"
        known = username == "root" and offered == self._client_key
        return AUTH_SUCCESSFUL if known else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind != "session":
            return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        self._requests[chanid] = Request()
        return OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        try:
            self.forwards[chanid] = self._doors.connect(*destination)
        except Exception as error:  # noqa: BLE001 - refused, timed out or host down: the client is only told that
            log.info("forward to %s: %r", destination, error)
            return OPEN_FAILED_CONNECT_FAILED
        return OPEN_SUCCEEDED

    def check_channel_env_request(self, channel: paramiko.Channel, name: bytes, value: bytes) -> bool:
        self._requests[channel.get_id()].environment[_text(name)] = _text(value)
        return True

    def check_channel_pty_request(
        self,
        channel: paramiko.Channel,
        term: bytes,
        width: int,
        height: int,
        pixelwidth: int,
        pixelheight: int,
        modes: bytes,
    ) -> bool:
        request = self._requests[channel.get_id()]
        request.environment["TERM"] = _text(term)
        request.open_terminal(width, height)
        return True

    def check_channel_window_change_request(
        self, channel: paramiko.Channel, width: int, height: int, pixelwidth: int, pixelheight: int
    ) -> bool:
        self._requests[channel.get_id()].resize(width, height)
        return True

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        return self._start(channel, None)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        return self._start(channel, _text(command))

    def _start(self, channel: paramiko.Channel, command: str | None) -> bool:
        try:
            entry = self._doors.entry()
        except Exception:  # noqa: BLE001 - the host went down between the connection and the request
            return False
        start(channel, entry, command, self._requests[channel.get_id()])
        return True


@dataclass
class _Half:
    """One direction of a forwarded connection, and what it shares with the other."""

    channel: paramiko.Channel
    target: socket.socket
    done: threading.Event = field(default_factory=threading.Event)

    def upstream(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while data := self.channel.recv(65536):
                self.target.sendall(data)
            self.target.shutdown(socket.SHUT_WR)
        self.done.wait()
        self.target.close()

    def downstream(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while data := self.target.recv(65536):
                self.channel.sendall(data)
        self.channel.close()
        self.done.set()


def _relay(channel: paramiko.Channel, target: socket.socket) -> None:
    both = _Half(channel, target)
    for direction in (both.upstream, both.downstream):
        threading.Thread(target=direction, daemon=True).start()


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
