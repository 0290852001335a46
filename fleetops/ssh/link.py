"""One authenticated connection to one SSH server, made when first needed, through other links where it must be."""

import logging
import random
import threading
import time
from copy import copy
from pathlib import Path
from typing import Any

import paramiko
from fabric import Connection

from fleetops.model.errors import FleetopsError, HostKeyRefused, Silence, Unreachable
from fleetops.ssh.config import SshConfig
from fleetops.ssh.dial import open_tcp, open_through, prefer, why_not, why_unmet
from fleetops.ssh.host_keys import RecordedKeysOnly, host_key
from fleetops.ssh.known_hosts import HostKey, KnownHosts, Verdict, record_name

CONNECT_S = 10
"""How long TCP may take where ssh_config has no ConnectTimeout."""

BANNER_S = 10
"""How long a server may take to say that it is one: a node out of memory accepts, and then says nothing."""

BUSY_S = (0.3, 0.9, 2.0)
"""Pauses before a server is tried again that hung up before its banner: at MaxStartups it drops who comes too many at once."""

EXCHANGE_S = 15
AUTH_S = 20

logging.getLogger("paramiko").addHandler(
    logging.NullHandler()
)  # its threads would print to the user's stderr


class Link:
    """A server and the connection to it; thread-safe.

    Args:
        connection: Fabric's, not opened: address, port, user and ssh_config of the server.
        label: what the operator calls it: the inventory's name, or a jump host's.
        trust: the name to give to `fleetops trust` when the key is unknown.
        via: the link to go through, None for none.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        label: str,
        trust: str,
        config: SshConfig,
        known_hosts: KnownHosts,
        via: "Link | None" = None,
    ) -> None:
        self.label = label
        self.via = via
        self.known_hosts = known_hosts
        self.files = config.known_hosts(connection)
        self._connection = connection
        self._config = config
        self._trust = trust
        self._attempt = threading.Lock()  # held for as long as a login takes: `close` must not wait for it
        self._transport: paramiko.Transport | None = None
        self._made: list[paramiko.Transport] = []
        self._clients: list[paramiko.SSHClient] = []  # each holds its connection to the agent
        self._failure: tuple[float, FleetopsError] | None = None
        self._closed = False

    @property
    def user(self) -> str:
        """The login."""
        return str(self._connection.user)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return str(self._connection.host), int(self._connection.port)

    @property
    def place(self) -> str:
        """`address:port`, for messages."""
        return "{}:{}".format(*self.address)

    @property
    def key_name(self) -> str:
        """The name under which this server's key is recorded."""
        alias = self._connection.ssh_config.get("hostkeyalias")
        return alias or record_name(*self.address)

    @property
    def connect_s(self) -> float:
        """ConnectTimeout; it holds for the way through a jump host too."""
        return float(self._connection.connect_timeout or CONNECT_S)

    def transport(self) -> paramiko.Transport:
        """The live connection, made now where there is none.

        Threads that were waiting while an attempt failed share that failure: a dead jump host costs all the
        hosts behind it one deadline, not one each.

        Raises:
            Unreachable: no connection came about; nothing was sent.
            HostKeyRefused: the server's key is not the one on record.
        """
        asked = time.monotonic()
        with self._attempt:
            current = self._transport
            if current is not None and current.is_active():
                return current
            if self._failure is not None and self._failure[0] >= asked:
                raise copy(self._failure[1])
            try:
                self._transport = current = self._patient_login()
            except FleetopsError as error:
                self._failure = (time.monotonic(), error)
                raise
            return current

    def retire(self, transport: paramiko.Transport) -> None:
        """Use this connection for nothing new; what still runs over it may end."""
        if self._transport is transport:
            self._transport = None

    def close(self) -> None:
        """End every connection that was made, one that is just being made too; nothing new comes about."""
        self._closed = True
        made, clients = self._made, self._clients
        self._made, self._clients, self._transport = [], [], None
        for transport in made:
            _hang_up(transport)
        for client in clients:
            client.close()

    def greet(self) -> HostKey:
        """Meet the server as far as its key; nothing is said about who is asking. Raises Unreachable."""
        transport = self._meet()
        try:
            transport.start_client(timeout=BANNER_S + EXCHANGE_S)
            return host_key(transport.get_remote_server_key())
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self.unreachable(*why_unmet(transport, error, BANNER_S)) from error
        finally:
            _hang_up(transport)

    def unreachable(self, why: str, reason: Silence | None = None) -> Unreachable:
        """The error that says which server, where, and why."""
        message = f"{self.label}: cannot connect to {self.place}: {why}"
        return Unreachable(message, host=self.label, reason=reason)

    def verdict(self, key: HostKey) -> tuple[Verdict, str]:
        """What the records say of this key, and where."""
        return self.known_hosts.verdict(self.files, self.key_name, key)

    def verify(self, key: HostKey) -> None:
        """Raises HostKeyRefused unless this key is on record for this server."""
        verdict, place = self.verdict(key)
        if verdict is not Verdict.KNOWN:
            raise self.refusal(key, verdict, place)

    def refusal(self, key: HostKey, verdict: Verdict, place: str) -> HostKeyRefused:
        """The error for a key that is not the recorded one."""
        shown = f"{key.type} {key.fingerprint}"
        if verdict is Verdict.UNKNOWN:
            message = f"{self.label}: the host key of {self.key_name} is not on record ({shown})"
            return self._refused(message, f"fleetops trust {self._trust}")
        if verdict is Verdict.REVOKED:
            message = f"{self.label}: the host key of {self.key_name} ({shown}) is revoked by {place}"
            return self._refused(message, "do not connect until its owner says why")
        file = Path(place.rpartition(":")[0])
        return self._refused(
            f"{self.label}: the host key of {self.key_name} has CHANGED: it presents {shown}, {place} records another",
            "verify it out of band: the host was reinstalled, or something stands between. Only then: "
            f"ssh-keygen -R '{self.key_name}' -f {file}, and fleetops trust {self._trust}",
        )

    def _refused(self, message: str, hint: str) -> HostKeyRefused:
        return HostKeyRefused(message, hint=hint, host=self.label, reason=Silence.HOST_KEY)

    def _socket(self) -> Any:
        if command := self._connection.ssh_config.get("proxycommand"):
            return paramiko.ProxyCommand(command)
        try:
            if self.via is None:
                return open_tcp(*self.address, self.connect_s)
            transport = self.via.transport()
            return open_through(transport, *self.address, self.connect_s)
        except FleetopsError as error:
            message = f"{self.label}: its jump host cannot be used: {error.message}"
            raise type(error)(message, hint=error.hint, host=self.label) from error
        except (paramiko.SSHException, EOFError, OSError) as error:
            through = f"through {self.via.label}: " if self.via is not None else ""
            words, reason = why_not(error, self.connect_s)
            raise self.unreachable(through + words, reason) from error

    def _meet(self) -> paramiko.Transport:
        """A transport, not started, that will ask for the keys that are on record."""
        types = self.known_hosts.types(self.files, self.key_name)
        transport = paramiko.Transport(self._socket())
        transport.banner_timeout = BANNER_S
        transport.handshake_timeout = EXCHANGE_S
        transport.auth_timeout = AUTH_S
        prefer(transport, types)
        self._made.append(transport)
        if self._closed:
            _hang_up(transport)
            raise self.unreachable("this run is being ended")
        return transport

    def _patient_login(self) -> paramiko.Transport:
        """Again after a pause where the server hung up before its banner: nothing was said to it."""
        for pause_s in BUSY_S:
            try:
                return self._login()
            except Unreachable as error:
                if error.reason is not Silence.CLOSED or error.host != self.label or self._closed:
                    raise
            time.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - so that those who were dropped do not come together again
        return self._login()

    def _login(self) -> paramiko.Transport:
        """Fabric's own client, with our socket, our deadlines and a policy that accepts recorded keys only."""
        policy = RecordedKeysOnly(self.verify)
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(policy)
        self._clients.append(client)
        transport = self._meet()
        host, port = self.address
        try:
            client.connect(
                host,
                port,
                username=self.user,
                sock=transport.sock,
                timeout=BANNER_S + EXCHANGE_S,
                transport_factory=lambda *_args, **_options: transport,
                **self._identities(),
            )
        except FleetopsError:
            _hang_up(transport)
            raise
        except (paramiko.SSHException, EOFError, OSError, ValueError) as error:
            _hang_up(transport)
            if policy.accepted:
                raise self._not_let_in(error) from error
            raise self.unreachable(*why_unmet(transport, error, BANNER_S)) from error
        return transport

    def _identities(self) -> dict[str, Any]:
        """What may be tried for the login; named keys replace the default ones, as in OpenSSH."""
        options = self._connection.ssh_config
        only = options.get("identitiesonly", "no").lower() == "yes"
        named = [file for file in options.get("identityfile", []) if file.lower() != "none"]
        return {
            "key_filename": [file for file in named if Path(file).is_file()],
            "allow_agent": self._config.has_agent and not only,
            "look_for_keys": not named,
        }

    @property
    def may_use_agent(self) -> bool:
        """Whether the agent's keys are tried, too."""
        return bool(self._identities()["allow_agent"])

    @property
    def key_files(self) -> tuple[Path, ...]:
        """The private keys that are tried: those that ssh_config names, else the default ones that are there."""
        tried = self._identities()
        if not tried["look_for_keys"]:
            return tuple(map(Path, tried["key_filename"]))
        return self._config.default_keys

    def _not_let_in(self, error: Exception) -> Unreachable:
        named = self._connection.ssh_config.get("identityfile", [])
        tried = [f if Path(f).is_file() else f"{f} (does not exist)" for f in named] or ["the keys in ~/.ssh"]
        if self._identities()["allow_agent"]:
            tried.append("the agent's keys")
        return Unreachable(
            f"{self.label}: login as {self.user} at {self.place} failed with {', '.join(tried)}: "
            f"{str(error).rstrip('.').lower() or 'the connection was closed'}",
            hint="check `user` in the inventory, IdentityFile in ssh_config, and that ssh-agent holds the key",
            host=self.label,
            reason=Silence.AUTH,
        )


def _hang_up(transport: paramiko.Transport) -> None:
    """Paramiko leaves the socket open where a transport never came to life, or died by itself."""
    transport.close()
    transport.sock.close()
