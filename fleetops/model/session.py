"""What the layers above `ssh/` know of a connection; tests hand in others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fleetops.model.command import Command, Outcome


@dataclass(frozen=True)
class Answer:
    """An HTTP answer from a port on a host, reached through the SSH connection."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Streaming:
    """An HTTP answer that is read while it comes.

    Attributes:
        content_type: the media type alone, in lower case.
        asked_at: when the request began to be sent, on `time.monotonic`'s clock.
        pieces: the body as it arrives. Iterating raises OSError or TimeoutError where it does not arrive whole.
    """

    status: int
    content_type: str
    asked_at: float
    pieces: Iterator[bytes]


class Session(Protocol):
    """A connection to one host.

    Every method raises `Unreachable` when the host cannot be reached before anything was sent, and
    `ConnectionLost` when the connection broke afterwards (for a change: look, do not repeat).
    """

    @property
    def host(self) -> str:
        """The host's inventory name."""

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        """Run one command to its end or its deadline."""

    def batch(self, commands: Sequence[Command]) -> list[Outcome]:
        """Run several reads in one round trip, each with its own deadline; outcomes in the same order."""

    def request(
        self, port: int, method: str, path: str, body: bytes | None = None, *, deadline_s: float = 10.0
    ) -> Answer:
        """One HTTP request to a port of the host's own loopback. Raises OSError or TimeoutError where none answers."""

    def stream(
        self,
        port: int,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        deadline_s: float = 10.0,
    ) -> AbstractContextManager[Streaming]:
        """The same, its answer read while it comes; `deadline_s` holds for the whole of it."""
