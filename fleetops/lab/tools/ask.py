"""What a stand-in command does first: ask the host's init, which has everything loaded, for what it would print.

Only what every Python has loaded is imported here: the command then takes its interpreter's start and no more, a fifth of
what it takes to load what it needs. Commands are most of what a probe or a recovery asks of the lab's hosts.
"""

import _socket
import marshal
import sys

SOCKET = "/run/lab/tools.sock"
_PATIENCE_S = 5.0
_CHUNK = 65536


def asked(tool: str) -> int | None:
    """Print what init says to this command line, and return the exit status; None where the command has to see itself."""
    said = _ask(marshal.dumps((tool, sys.argv[1:])))
    if not said:
        return None
    status, output, complaint = marshal.loads(said)  # noqa: S302 - of this host's own init
    sys.stdout.write(output)
    sys.stderr.write(complaint)
    return int(status)


def _ask(question: bytes) -> bytes:
    """The answer, empty where nobody gives one."""
    with_init = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    with_init.settimeout(_PATIENCE_S)
    parts = []
    try:
        with_init.connect(SOCKET)
        with_init.sendall(question)
        with_init.shutdown(_socket.SHUT_WR)
        while part := with_init.recv(_CHUNK):
            parts.append(part)
    except OSError:
        return b""
    finally:
        with_init.close()
    return b"".join(parts)
