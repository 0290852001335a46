"""All connections of one run."""

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from fleetops.model.errors import UsageError
from fleetops.model.fleet import Host, Settings
from fleetops.ssh.config import SshConfig, jumps_of
from fleetops.ssh.known_hosts import KnownHosts
from fleetops.ssh.link import Link
from fleetops.ssh.session import SshSession
from fleetops.ssh.sudo import SudoPassword

_LONGEST_WAY = 8


class Connections:
    """Sessions by host, opened when first used and kept warm until closed; thread-safe, a context manager.

    ssh_config and known_hosts are read once. Jump hosts are connected to once, for all the hosts behind them.

    Args:
        settings: where this inventory keeps its SSH files.
        environ: HOME, SSH_AUTH_SOCK.
        ask_secret: prompts for the sudo password, at most once; None where there is nobody to ask.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str],
        ask_secret: Callable[[str], str] | None = None,
    ) -> None:
        self._config = SshConfig(settings, environ)
        self._known_hosts = KnownHosts()
        self._password = SudoPassword(ask_secret)
        self._sessions: dict[str, SshSession] = {}
        self._links: dict[tuple[str, ...], Link] = {}
        self._lock = threading.Lock()

    def session(self, host: Host) -> SshSession:
        """The session to this host. Nothing is contacted yet. Raises UsageError where ssh_config makes no sense."""
        with self._lock:
            if host.name not in self._sessions:
                self._sessions[host.name] = SshSession(host.name, self._link(host), self._password)
            return self._sessions[host.name]

    def link(self, host: Host) -> Link:
        """The way to this host, whose `via` leads back to the first jump host."""
        with self._lock:
            return self._link(host)

    def _link(self, host: Host) -> Link:
        connection = self._config.connection(host.address, user=host.user, port=host.port, host=host.name)
        way: tuple[str, ...] = ()
        via = None
        for hop in self._hops(jumps_of(connection), host):
            way = (*way, hop)
            via = self._jump(way, via, host)
        return self._remember(
            (*way, f"host {host.name}"), connection, label=host.name, trust=host.name, via=via
        )

    def _hops(self, hops: list[str], host: Host) -> list[str]:
        """The whole way: the first hop may itself need one."""
        way = list(hops)
        while hops:
            hops = jumps_of(self._config.connection(hops[0], host=host.name))
            way = [*hops, *way]
            if len(way) > _LONGEST_WAY:
                raise UsageError(
                    f"{host.name}: the ProxyJump of ssh_config goes round in a circle: {', '.join(way)}",
                    host=host.name,
                )
        return way

    def _jump(self, way: tuple[str, ...], via: Link | None, host: Host) -> Link:
        connection = self._config.connection(way[-1], host=host.name)
        return self._remember(way, connection, label=f"jump host {way[-1]}", trust=host.name, via=via)

    def _remember(
        self, way: tuple[str, ...], connection: object, *, label: str, trust: str, via: Link | None
    ) -> Link:
        if way not in self._links:
            self._links[way] = Link(
                connection,
                label=label,
                trust=trust,
                config=self._config,
                known_hosts=self._known_hosts,
                via=via,
            )
        return self._links[way]

    def close(self) -> None:
        """End all connections, those behind a jump host before the jump host's own."""
        with self._lock:
            links = sorted(self._links.items(), key=lambda item: -len(item[0]))
            self._links, self._sessions = {}, {}
        for _, link in links:
            link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
