"""HTTP to a port of a host's own loopback, through the SSH connection."""

import http.client
import io
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from fleetops.model.session import Answer, Streaming

LIMIT_BYTES = 32 * 2**20
"""How much of an answer is read; an engine's metrics are far below."""

_PIECE_BYTES = 1 << 16


class Channel(Protocol):
    """What is needed of a paramiko channel; a connected socket has it too."""

    def settimeout(self, timeout: float | None, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


@contextmanager
def stream(
    channel: Channel,
    method: str,
    path: str,
    body: bytes | None,
    *,
    deadline_s: float,
    headers: Mapping[str, str] | None = None,
) -> Iterator[Streaming]:
    """One request over a direct-tcpip channel, its answer read as it comes; the channel is closed afterwards.

    Raises (also inside the `with`, while the pieces are read):
        OSError: what answered did not speak HTTP, or hung up before the answer was whole.
        TimeoutError: the whole answer did not come within `deadline_s`.
    """
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.sock = _Socket(channel, time.monotonic() + deadline_s)
    own = {"Connection": "close"} | ({"Content-Type": "application/json"} if body is not None else {})
    try:
        asked_at = time.monotonic()
        connection.request(method, path, body=body, headers=own | dict(headers or {}))
        response = connection.getresponse()
        kind = response.headers.get_content_type()
        yield Streaming(response.status, kind, asked_at=asked_at, pieces=_pieces(response))
    except http.client.IncompleteRead as error:
        raise OSError("the answer broke off") from error
    except http.client.HTTPException as error:
        raise OSError(f"not an HTTP answer: {error or type(error).__name__}") from error
    finally:
        channel.close()


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body as it comes, its chunks undone."""
    while piece := response.read1(_PIECE_BYTES):
        yield piece
    if response.length:
        raise OSError(f"the answer ended {response.length} bytes short")


def whole(answer: Streaming) -> Answer:
    """All of an answer, up to LIMIT_BYTES."""
    body = bytearray()
    for piece in answer.pieces:
        body += piece
        if len(body) >= LIMIT_BYTES:
            break
    return Answer(answer.status, bytes(body[:LIMIT_BYTES]))


class _Socket:
    """The part of a socket that http.client uses, with one deadline over everything."""

    def __init__(self, channel: Channel, until: float) -> None:
        self.channel = channel
        self._until = until

    def sendall(self, data: bytes) -> None:
        self.limit()
        self.channel.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - the socket's signature
        return io.BufferedReader(_Reader(self), _PIECE_BYTES)

    def limit(self) -> None:
        """Let the next operation take what is left of the deadline. Raises TimeoutError."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no whole answer within the deadline")
        self.channel.settimeout(left)

    def close(self) -> None:
        """The channel outlives the request object; `stream` closes it."""


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
