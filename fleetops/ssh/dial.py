"""TCP as an SSH connection wants it, and its failures in words."""

import socket
from typing import Any

import paramiko

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


def why_not(error: Exception, timeout_s: float) -> str:
    """A failure to connect, in words."""
    if isinstance(error, socket.gaierror):
        return f"its address cannot be resolved ({error.strerror})"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(error, paramiko.ChannelException):
        return f"nothing answers there ({error.text.lower()})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def why_unmet(transport: paramiko.Transport, error: Exception, banner_s: float) -> str:
    """A failure between TCP and the host key, in words."""
    if transport.remote_version:
        return f"it speaks SSH, but no keys could be agreed on: {error or type(error).__name__}"
    if isinstance(error.__context__ or error, TimeoutError):
        return (
            f"it accepted the connection but sent no SSH banner within {banner_s:g} s: "
            "the host may be out of memory or hung, or the port is not SSH's"
        )
    if isinstance(error.__context__ or error, EOFError | ConnectionError):
        return "it closed the connection before its SSH banner (too many connections at once, or a service that is down)"
    return f"what answers is not an SSH server: {error}"


def algorithms_for(key_type: str) -> tuple[str, ...]:
    """The signature algorithms under which a server offers a key of this type."""
    return ("rsa-sha2-512", "rsa-sha2-256") if key_type == "ssh-rsa" else (key_type,)


def prefer(transport: paramiko.Transport, key_types: tuple[str, ...]) -> None:
    """Ask the server first for keys of these types: those on record can be compared."""
    security: Any = transport.get_security_options()
    offered = list(security.key_types)
    first = [name for key_type in key_types for name in algorithms_for(key_type) if name in offered]
    security.key_types = [*first, *(name for name in offered if name not in first)]
