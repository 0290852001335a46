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

from fleetops.lab.control import HostDown
from fleetops.lab.port import Port
from fleetops.lab.sshcommand import Request, start

log = logging.getLogger("fleetops.lab.ssh")
_ACCEPT_S = 1.0


@dataclass(frozen=True)
class Doors:
    """How the server gets into a host; all raise OSError or HostDown while the host is not running.

    Attributes:
        boot: what tells one run of the host from the next.
        is_mute: whether its sshd takes connections and says nothing.
        entry: the argv to put before a command.
        connect: a TCP connection to an address inside the host's network.
    """

    boot: Callable[[], tuple[int, ...]]
    is_mute: Callable[[], bool]
    entry: Callable[[], list[str]]
    connect: Callable[[str, int], socket.socket]


class HostServer:
    """Serves one host's port, in threads, for as long as the process lives."""

    def __init__(
        self, name: str, address: str, host_key: paramiko.PKey, client_key: str, doors: Doors
    ) -> None:
        self.name = name
        self._port = Port(address, self._serve)
        self._host_key = host_key
        self._client_key = client_key
        self._doors = doors
        self._open: dict[paramiko.Transport | socket.socket, tuple[int, ...]] = {}

    @property
    def port(self) -> int:
        """The number of its TCP port."""
        return self._port.number

    def server(self, client_key: str, doors: Doors) -> "_Server":
        """What answers the requests of one connection."""
        return _Server(client_key, doors)

    def follow(self) -> None:
        """Break every connection that is not of this run of the host; listen while it is up."""
        boot = self._boot()
        for connection, connected in list(self._open.items()):
            if connected != boot:
                self._open.pop(connection, None)
                connection.close()
        if boot:
            self._port.open()
        else:
            self._port.close()

    def end(self) -> None:
        """Break every connection, and give the port up."""
        self._port.give_up()
        for connection in list(self._open):
            connection.close()

    def _boot(self) -> tuple[int, ...]:
        """What tells this run of the host from others; nothing where it is down, for whatever reason."""
        try:
            return self._doors.boot()
        except (HostDown, ValueError, OSError):
            return ()

    def _serve(self, connection: socket.socket) -> None:
        boot = self._boot()
        if not boot:
            connection.close()
            return
        if self._doors.is_mute():
            self._open[connection] = boot  # taken, and not a word
            return
        server = self.server(self._client_key, self._doors)
        transport = _Transport(connection, server.answered)
        transport.add_server_key(self._host_key)
        self._open[transport] = boot
        try:
            transport.start_server(server=server)
            _keep_channels(transport, server)
        except (paramiko.SSHException, EOFError, OSError) as error:
            log.info("%s: %s", self.name, error)
        finally:
            self._open.pop(transport, None)
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


class _Transport(paramiko.Transport):
    """Says when its own thread, which reads the client's requests, has answered one."""

    def __init__(self, connection: socket.socket, answered: Callable[[], None]) -> None:
        super().__init__(connection)
        self._answered = answered

    def _send_user_message(self, data: paramiko.Message) -> None:
        super()._send_user_message(data)  # type: ignore[misc]
        if threading.current_thread() is self:
            self._answered()


class _Server(paramiko.ServerInterface):
    def __init__(self, client_key: str, doors: Doors) -> None:
        self._client_key = client_key
        self._doors = doors
        self._requests: dict[int, Request] = {}
        self._started: list[Request] = []
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
        request = self._requests[channel.get_id()]
        self._started.append(request)
        start(channel, entry, command, request)
        return True

    def answered(self) -> None:
        """The clients know that what was started has been."""
        while self._started:
            self._started.pop().answered.set()


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
