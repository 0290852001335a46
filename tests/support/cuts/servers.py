"""SSH servers in front of a lab's hosts, each on a port of its own, that break the connection when they are told to.

They are the lab's own server (fleetops/lab/sshserver.py), run here: what a command does on the host, and what becomes of
it when its client has gone, is the same.
"""

import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import paramiko

from cuts.cutter import Cutter, Moment
from fleetops.lab import serve, sshserver
from fleetops.lab.api import Lab
from fleetops.lab.control import HostDown, way_in
from fleetops.lab.fleet import FLEET, LabHost
from fleetops.lab.keys import CLIENT_KEY
from fleetops.lab.paths import Layout
from fleetops.lab.privilege import gives_up_root, lab_owner
from fleetops.lab.sshcommand import start
from fleetops.lab.sshserver import Doors, HostServer

_FOLLOW_S = 0.05
# How much later than it was started, with its input, a command of a slow host comes to its change. It stands after what a
# call begins with (fleetops/ssh/quote.py).
_SLOW_S = 2
_BEGUN = re.compile(r"( fleetops [0-9a-f]{32} )")
_SLOW = rf"""\1sh -c 'sleep {_SLOW_S}; exec "$@"' slow """


@dataclass(frozen=True)
class Front:
    """What stands before a lab: an inventory that leads through it, what it cuts, and the hosts that it lets nobody reach."""

    inventory: Path
    cutter: Cutter
    dark: set[str]


@contextmanager
def front(lab: Lab, folder: Path) -> Iterator[Front]:
    """Servers for all hosts of the lab; `folder`, a new one, gets the files by which clients find them."""
    cutter, over, dark = Cutter(), threading.Event(), set[str]()
    servers = [_server(lab, host, cutter, dark) for host in FLEET]
    following = threading.Thread(target=_follow, args=(servers, over), daemon=True)
    following.start()
    try:
        yield Front(_client_files(lab, folder, {one.name: one.port for one in servers}), cutter, dark)
    finally:
        over.set()
        following.join()
        for server in servers:
            server.end()


def _follow(servers: list[HostServer], over: threading.Event) -> None:
    while not over.wait(_FOLLOW_S):
        for server in servers:
            server.follow()


class _CuttingHost(HostServer):
    """One host's port."""

    cutter: Cutter

    def server(self, client_key: str, doors: Doors) -> "_CuttingServer":
        return _CuttingServer(client_key, doors, self.name, self.cutter)


def _server(lab: Lab, host: LabHost, cutter: Cutter, dark: set[str]) -> HostServer:
    """It listens once it is followed."""
    layout = Layout(lab.folder)
    public = (layout.ssh / f"{CLIENT_KEY}.pub").read_text().strip()
    key = paramiko.Ed25519Key.from_private_key_file(str(layout.ssh / f"host_{host.name}"))
    server = _CuttingHost(host.name, host.address, key, public, _doors(lab, host, dark))
    server.cutter = cutter
    return server


def _doors(lab: Lab, host: LabHost, dark: set[str]) -> Doors:
    """The ways into a host for who is outside of the lab. As the lab's own server has them; a connection into the host goes through that server."""
    inner = serve._doors(Layout(lab.folder), host)
    owner = str(lab_owner())
    become = ["/usr/bin/setpriv", "--reuid", owner, "--regid", owner, "--clear-groups", "--"]
    own = [*(become if gives_up_root() else []), *way_in(lab.folder)]

    def boot() -> tuple[int, ...]:
        if host.name in dark:
            raise HostDown(f"{host.name} answers nobody", host=host.name)
        return inner.boot()

    return Doors(
        boot=boot,
        is_mute=inner.is_mute,
        entry=lambda: [*own, *inner.entry()],
        connect=lambda address, port: _connect(lab, host, address, port),
    )


def _connect(lab: Lab, host: LabHost, address: str, port: int) -> socket.socket:
    """A socket whose other end is a connection into the host. Raises OSError, SSHException."""
    transport = paramiko.Transport((host.address, lab.ports[host.name]))
    transport.connect(username="root", pkey=paramiko.Ed25519Key.from_private_key_file(str(lab.identity)))
    channel = transport.open_channel("direct-tcpip", (address, port), (host.address, 0))
    ours, theirs = socket.socketpair()
    half = sshserver._Half(channel, theirs)
    threading.Thread(target=half.upstream, daemon=True).start()
    threading.Thread(target=lambda: (half.downstream(), transport.close()), daemon=True).start()
    return ours


class _CuttingServer(sshserver._Server):
    """Breaks the connection of the command that it is told to."""

    def __init__(self, client_key: str, doors: Doors, host: str, cutter: Cutter) -> None:
        super().__init__(client_key, doors)
        self._host, self._cutter = host, cutter

    def _start(self, channel: paramiko.Channel, command: str | None) -> bool:
        moment = self._cutter.arrives(self._host, command or "")
        if moment is None:
            return super()._start(channel, command)
        transport = channel.get_transport()
        if moment is Moment.BEFORE:
            transport.close()
            return False
        request = self._requests[channel.get_id()]
        request.answered.set()
        if moment is Moment.WHILE:
            command = _BEGUN.sub(_SLOW, command or "", count=1)
        start(_WIRES[moment](channel), self._doors.entry(), command, request)
        return True


class _Wire:
    """As much of a channel as a command needs. It breaks in one of the ways that moments are made of."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self.closed = False

    def recv(self, size: int) -> bytes:
        return self._channel.recv(size)

    def sendall(self, data: bytes) -> None:
        """What the command prints is not heard."""

    def sendall_stderr(self, data: bytes) -> None:
        """The same."""

    def send_exit_status(self, status: int) -> None:
        self.close()

    @property
    def remote_chanid(self) -> int:
        """Asked for where the command has ended by a signal."""
        return int(self._channel.remote_chanid)

    def get_transport(self) -> paramiko.Transport:
        self.close()
        return self._channel.get_transport()

    def close(self) -> None:
        self.closed = True
        self._channel.get_transport().close()


class _Deaf(_Wire):
    """Nothing of the client's input arrives: it breaks as soon as the command would read some."""

    def recv(self, size: int) -> bytes:
        self.close()
        return b""


class _Interrupted(_Wire):
    """It breaks once the command's input has come to its end and the first of its words, that it has begun, is heard."""

    def __init__(self, channel: paramiko.Channel) -> None:
        super().__init__(channel)
        self._fed = self._heard = False

    def recv(self, size: int) -> bytes:
        data = self._channel.recv(size)
        self._fed = not data
        self._break_in_time()
        return data

    def sendall(self, data: bytes) -> None:
        self._channel.sendall(data)
        self._heard = True
        self._break_in_time()

    def _break_in_time(self) -> None:
        if self._fed and self._heard:
            self.close()


_WIRES = {Moment.INPUT: _Deaf, Moment.WHILE: _Interrupted, Moment.AFTER: _Wire}


def _client_files(lab: Lab, folder: Path, ports: dict[str, int]) -> Path:
    """The lab's inventory and SSH files, leading to these ports; the inventory's path."""
    layout = Layout(lab.folder)
    shutil.copytree(layout.inventory, folder / "inventory")
    (folder / "ssh").mkdir(mode=0o700)
    for name in ("config", "known_hosts", CLIENT_KEY):
        shutil.copy(layout.ssh / name, folder / "ssh" / name)
    for path in (folder / "inventory/fleet.yaml", folder / "ssh/config", folder / "ssh/known_hosts"):
        text = path.read_text().replace(str(layout.ssh), str(folder / "ssh"))
        for name, port in ports.items():
            text = re.sub(rf"\b{lab.ports[name]}\b", str(port), text)
        path.write_text(text)
    return folder / "inventory"
