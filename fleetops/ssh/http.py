"""HTTP to a port of a host's own loopback, through the SSH connection."""

import http.client
import io
import time

from paramiko import Channel

from fleetops.model.session import Answer

LIMIT_BYTES = 32 * 2**20
"""How much of an answer is read; an engine's metrics are far below."""


def request(channel: Channel, method: str, path: str, body: bytes | None, *, deadline_s: float) -> Answer:
    """One request over a direct-tcpip channel, which is closed afterwards.

    Raises:
        OSError: what answered did not speak HTTP, or hung up.
        TimeoutError: the whole answer did not come within `deadline_s`.
    """
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.sock = _Socket(channel, time.monotonic() + deadline_s)
    headers = {"Connection": "close"} | ({"Content-Type": "application/json"} if body is not None else {})
    try:
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return Answer(response.status, response.read(LIMIT_BYTES))
    except http.client.HTTPException as error:
        raise OSError(f"not an HTTP answer: {error or type(error).__name__}") from error
    finally:
        channel.close()


class _Socket:
    """The part of a socket that http.client uses, with one deadline over everything."""

    def __init__(self, channel: Channel, until: float) -> None:
        self.channel = channel
        self._until = until

    def sendall(self, data: bytes) -> None:
        self.limit()
        self.channel.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - the socket's signature
        return io.BufferedReader(_Reader(self), 1 << 16)

    def limit(self) -> None:
        """Let the next operation take what is left of the deadline. Raises TimeoutError."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no whole answer within the deadline")
        self.channel.settimeout(left)

    def close(self) -> None:
        """The channel outlives the request object; `request` closes it."""


class _Reader(io.RawIOBase):
    def __init__(self, source: _Socket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._source.limit()
        data = self._source.channel.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)
