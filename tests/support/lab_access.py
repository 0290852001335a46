"""The types of the lab's own fixtures, and what a port of the lab says to who knocks."""

import socket
import subprocess
import time
from collections.abc import Callable

import paramiko

Client = Callable[[str], paramiko.SSHClient]
Inside = Callable[..., subprocess.CompletedProcess[str]]
Sh = Callable[[str, str], str]


def banner(port: int, wait_s: float = 5.0) -> str:
    """What comes first on a port: `SSH`, `refused`, `closed`, or `silence` for as long as is waited."""
    try:
        with socket.create_connection(("127.0.0.1", port), wait_s) as connection:
            connection.settimeout(wait_s)
            return connection.recv(3).decode() or "closed"
    except ConnectionRefusedError:
        return "refused"
    except ConnectionResetError:
        return "closed"
    except TimeoutError:
        return "silence"


def await_banner(port: int, expected: str, limit_s: float = 15.0) -> None:
    """Wait until a port says that."""
    deadline = time.monotonic() + limit_s
    while (said := banner(port)) != expected:
        assert time.monotonic() < deadline, f"port {port} says {said}, not {expected}"
        time.sleep(0.02)
