"""TCP as an SSH connection wants it, and its failures in words."""

import errno
import socket
from typing import Any, NamedTuple

import paramiko

from fleetops.model.errors import Silence

DEAD_PEER_MS = 20_000
"""How long sent bytes may go unacknowledged before the kernel gives the connection up."""

_KEEPALIVE = (
    ("TCP_KEEPIDLE", 10),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", DEAD_PEER_MS),
)


def open_tcp(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connected socket, prepared: no delay for small packets (it doubles the time to connect), death noticed.

    Raises OSError.
    """
    plain = socket.create_connection((host, port), timeout=timeout_s)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        if hasattr(socket, option):
            plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return plain


def open_through(transport: paramiko.Transport, host: str, port: int, timeout_s: float) -> paramiko.Channel:
    """A channel to that port as the far end of `transport` reaches it. Raises SSHException, OSError or EOFError."""
    return transport.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=timeout_s)


class Why(NamedTuple):
    """A failure to get through, in words, and how the host kept silent where that shows."""

    words: str
    reason: Silence | None = None


def why_not(error: Exception, timeout_s: float) -> Why:
    """A failure to connect. What a jump host says of a port behind it is not told apart: it has one word for all."""
    if isinstance(error, socket.gaierror):
        return Why(f"its address cannot be resolved ({error.strerror})")
    if isinstance(error, TimeoutError):
        return Why(f"no answer within {timeout_s:g} s", Silence.TIMEOUT)
    if isinstance(error, paramiko.ChannelException):
        return Why(f"nothing answers there ({error.text.lower()})")
    if isinstance(error, OSError) and error.strerror:
        return Why(error.strerror.lower(), _ERRNO.get(error.errno or 0))
    return Why(str(error) or type(error).__name__)


_ERRNO = {
    errno.ECONNREFUSED: Silence.REFUSED,
    errno.EHOSTUNREACH: Silence.NO_ROUTE,
    errno.ENETUNREACH: Silence.NO_ROUTE,
    errno.ETIMEDOUT: Silence.TIMEOUT,
}


def why_unmet(transport: paramiko.Transport, error: Exception, banner_s: float) -> Why:
    """A failure between TCP and the host key. Through a ProxyCommand nobody knows whether TCP was accepted."""
    if transport.remote_version:
        if transport.packetizer.handshake_timed_out():
            return Why("it sent its SSH banner and then nothing: the host may hang", Silence.TIMEOUT)
        return Why(f"it speaks SSH, but no keys could be agreed on: {error or type(error).__name__}")
    if isinstance(error.__context__ or error, TimeoutError):
        proxied = isinstance(transport.sock, paramiko.ProxyCommand)
        return Why(
            f"it accepted the connection but sent no SSH banner within {banner_s:g} s: "
            "the host may be out of memory or hung, or the port is not SSH's",
            None if proxied else Silence.NO_BANNER,
        )
    if isinstance(error.__context__ or error, EOFError | ConnectionError):
        return Why(
            "it closed the connection before its SSH banner"
            " (too many connections at once, or a service that is down)",
            Silence.CLOSED,
        )
    return Why(f"what answers is not an SSH server: {error}", Silence.NOT_SSH)


def algorithms_for(key_type: str) -> tuple[str, ...]:
    """The signature algorithms under which a server offers a key of this type."""
    return ("rsa-sha2-512", "rsa-sha2-256") if key_type == "ssh-rsa" else (key_type,)


def prefer(transport: paramiko.Transport, key_types: tuple[str, ...]) -> None:
    """Ask the server first for keys of these types: those on record can be compared."""
    security: Any = transport.get_security_options()
    offered = list(security.key_types)
    first = [name for key_type in key_types for name in algorithms_for(key_type) if name in offered]
    security.key_types = [*first, *(name for name in offered if name not in first)]
