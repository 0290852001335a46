"""A remote stream cut at its markers, each piece kept up to a limit; linear in what comes, whatever its size."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_PREAMBLE_BYTES = 64 * 1024
_STATUS_BYTES = 8
"""The longest that can stand between a marker's colon and its newline."""


@dataclass
class Kept:
    """The first `limit_bytes` of a piece; the rest is counted as dropped."""

    limit_bytes: int
    size_bytes: int = 0
    truncated: bool = False
    _chunks: list[bytes] = field(default_factory=list)

    def add(self, data: bytes) -> None:
        """Keep what still fits."""
        room = self.limit_bytes - self.size_bytes
        if len(data) > room:
            self.truncated = True
            data = data[: max(room, 0)]
        if data:
            self._chunks.append(data)
            self.size_bytes += len(data)

    @property
    def content(self) -> bytes:
        """What was kept."""
        return b"".join(self._chunks)


class Sections:
    """One stream of a call: what came before its start marker, then one piece per part.

    Args:
        nonce: the word in the markers.
        limits: how much of each part is kept, in bytes.
        closed: whether each part ends with a marker of its own (a batch), or the only part runs to the end.
        tap: sees the parts' bytes as they come, limits or not.
    """

    def __init__(
        self,
        nonce: str,
        limits: Sequence[int],
        *,
        closed: bool,
        tap: Callable[[bytes], None] | None = None,
    ) -> None:
        self._marker = f"{nonce}:".encode()
        self._awaited = 1 + (len(limits) if closed else 0)
        self._tap = tap
        self._tail = b""
        self._pieces = [Kept(_PREAMBLE_BYTES), *(Kept(limit) for limit in limits)]
        self.statuses: list[str] = []
        self.size_bytes = 0

    @property
    def preamble(self) -> bytes:
        """What came before the start marker; before that arrives, including what may yet become part of it."""
        return self._pieces[0].content + (b"" if self.started else self._tail)

    @property
    def started(self) -> bool:
        """Whether the start marker came."""
        return bool(self.statuses)

    @property
    def ended(self) -> int:
        """How many parts have ended with their marker."""
        return max(len(self.statuses) - 1, 0)

    @property
    def complete(self) -> bool:
        """Whether every marker that was awaited has come."""
        return len(self.statuses) == self._awaited

    def part(self, number: int) -> Kept:
        """The piece of the part with this number, from 0."""
        return self._pieces[number + 1]

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.size_bytes += len(data)
        data, start = self._tail + data, 0
        self._tail = b""
        while not self.complete:
            at = data.find(self._marker, start)
            if at < 0:
                at = max(len(data) - len(self._marker) + 1, start)
                break
            after = at + len(self._marker)
            end = data.find(b"\n", after, after + _STATUS_BYTES)
            if end < 0:
                break
            self._take(data[start:at])
            self.statuses.append(data[after:end].decode("ascii", "replace"))
            start = end + 1
        else:
            at = len(data)
        self._take(data[start:at])
        self._tail = data[at:]

    def finish(self) -> None:
        """The stream is over: what was held back as a possible marker is content."""
        self._take(self._tail)
        self._tail = b""

    def _take(self, data: bytes) -> None:
        place = len(self.statuses)
        if not data or place >= len(self._pieces):
            return
        self._pieces[place].add(data)
        if self._tap is not None and place:
            self._tap(data)


class Text:
    """Bytes as they come, handed on as text: a character cut in two waits for its other half."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._on_text = on_text

    def __call__(self, data: bytes) -> None:
        if text := self._decoder.decode(data):
            self._on_text(text)
