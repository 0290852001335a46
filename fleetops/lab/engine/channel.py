"""Messages between the engine's processes: JSON over sockets that keep message boundaries."""

import json
import socket
from typing import Any

Message = dict[str, Any]
_LARGEST = 1 << 20


class Channel:
    """One end. Where the real engine has ZeroMQ and NCCL."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: Message) -> bool:
        """Send; False where the other side is gone. Like a ZeroMQ push, that is no error: nobody will answer."""
        try:
            self._end.send(json.dumps(message).encode())
        except (BrokenPipeError, ConnectionError):
            return False
        return True

    def receive(self, timeout_s: float | None = None) -> Message | None:
        """The next message; None after the timeout. Raises EOFError when the other side is gone."""
        self._end.settimeout(timeout_s)
        try:
            data = self._end.recv(_LARGEST)
        except (TimeoutError, BlockingIOError):
            return None
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        message: Message = json.loads(data)
        return message

    def close(self) -> None:
        """Close this end."""
        self._end.close()


def pair() -> tuple[Channel, Channel]:
    """Both ends of a new channel."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(one), Channel(other)
